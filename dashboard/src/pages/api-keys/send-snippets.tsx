import { useQuery } from '@tanstack/react-query';
import { unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { type Snippet, Snippets } from '../../components/code-block.tsx';
import { createStore, useStore } from '../../lib/store.ts';
import { type Mode, useSelection } from '../../session/selection.ts';
import { useCan, useMe } from '../../session/session.ts';
import { sendSnippets } from './snippet-code.ts';

/**
 * Examples that work when pasted: they use the user's own address, a domain of the workspace, and
 * the test key created last. Test keys are remembered in memory only, live keys never.
 */
const testKeys = createStore<Readonly<Record<string, string>>>({});

export function rememberTestKey(workspaceId: string | null, token: string): void {
  testKeys.set({ ...testKeys.get(), [workspaceId ?? '']: token });
}

/** The key for an example in the selected mode, or a placeholder. */
export function useSnippetToken(mode?: Mode): string {
  const selection = useSelection();
  const tokens = useStore(testKeys);
  const shown = mode ?? selection.mode;
  const known = shown === 'test' ? tokens[selection.workspaceId ?? ''] : undefined;
  return known ?? `pr_${shown}_…`;
}

/** A sender address on a domain of the workspace, preferably a verified one; '' if there is none. */
export function useSenderAddress(enabled = true): string {
  const { api, key } = useApi();
  const canRead = useCan()('read:domains');
  const domains = useQuery({
    queryKey: key('domains', 'senders'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: enabled && canRead,
  });
  const rows = domains.data ?? [];
  const domain = rows.find(({ status }) => status === 'verified') ?? rows[0];
  return domain ? `hello@${domain.name}` : '';
}

/** The sender for an example: any address works in test mode, live mode needs a verified domain. */
export function useSnippetSender(mode: Mode): string {
  const sender = useSenderAddress();
  if (sender !== '') return sender;
  return mode === 'live' ? 'hello@yourdomain.com' : 'hello@example.org';
}

export function SendSnippets({
  mode,
  token,
  more = [],
}: {
  mode: Mode;
  token?: string;
  more?: readonly Snippet[];
}) {
  const remembered = useSnippetToken(mode);
  const from = useSnippetSender(mode);
  const { email } = useMe();
  const snippets = sendSnippets({ token: token ?? remembered, from, to: email });
  return <Snippets snippets={[...snippets, ...more]} />;
}
