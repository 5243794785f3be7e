import { useQuery } from '@tanstack/react-query';
import { type Schema, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { CodeBlock, Snippets } from '../../components/code-block.tsx';
import { type Mode, useSelection } from '../../session/selection.ts';
import { useCan, useMe } from '../../session/session.ts';
import { clientSnippets } from './client-snippets.ts';
import { type ExampleKey, MissingKeyNote, placeholderKey, useExampleKey } from './example-key.tsx';
import { placeholderSesSecrets, SesNote, useSesSecrets } from './example-ses-secrets.tsx';
import type { Scope } from './scopes.ts';
import { smtpSnippet } from './smtp-snippet.ts';
import { sendSnippets } from './snippet-code.ts';

/** Examples that work when pasted, with the user's own address, domain and test key. */

/**
 * A sender address on a domain of the workspace that can send, or on any if none can; '' if there
 * is none. A key may be restricted to certain domains.
 */
export function useSenderAddress(enabled = true, allowedDomains: readonly string[] = []): string {
  const { api, key } = useApi();
  const canRead = useCan()('read:domains');
  const domains = useQuery({
    queryKey: key('domains', 'senders'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: enabled && canRead,
  });
  const rows = (domains.data ?? []).filter(
    ({ name }) => allowedDomains.length === 0 || allowedDomains.includes(name),
  );
  const domain =
    rows.find(({ status }) => status === 'verified') ??
    rows.find(({ status }) => status === 'degraded') ??
    rows[0];
  const name = domain?.name ?? allowedDomains[0];
  return name === undefined ? '' : `hello@${name}`;
}

/** The sender for an example: any address works in test mode, live mode needs a verified domain. */
function useSnippetSender(mode: Mode, allowedDomains?: readonly string[]): string {
  const sender = useSenderAddress(true, allowedDomains);
  if (sender !== '') return sender;
  return mode === 'live' ? 'hello@yourdomain.com' : 'hello@example.org';
}

const SEND: readonly Scope[] = ['send:transactional'];

/** A first message in several languages, with a key that was just created or a remembered one. */
export function SendSnippets({
  mode,
  apiKey,
  everyWay = false,
  createKey = true,
}: {
  mode: Mode;
  apiKey?: ExampleKey;
  /** Whether to show SMTP and the client libraries of other providers, too. */
  everyWay?: boolean;
  /** Whether a new key is offered if none is remembered. */
  createKey?: boolean;
}) {
  const remembered = useExampleKey(mode, SEND);
  const key = apiKey ?? remembered;
  const from = useSnippetSender(mode, key?.allowed_domains);
  const { email } = useMe();
  const ses = useSesSecrets(mode, key);
  const values = { token: key?.token ?? placeholderKey(mode), from, to: email };
  const smtp = useSmtpSettings(everyWay);
  const own = [...sendSnippets(values), ...(smtp ? [smtpSnippet(values.token, smtp)] : [])];
  const examples = everyWay
    ? [
        ...own.map((snippet) => ({ ...snippet, group: 'Postrider API' })),
        ...clientSnippets({ ...values, ses: ses.secrets ?? placeholderSesSecrets(mode) }),
      ]
    : own;
  const snippets = examples.map((snippet) => ({
    ...snippet,
    note: (
      <>
        {snippet.note}
        {snippet.name === 'Amazon SES' && key && <SesNote {...ses} />}
        {!key && createKey && (
          <MissingKeyNote mode={mode} scopes={SEND}>
            {snippet.name === 'Amazon SES' &&
              `Replace the credentials with those of a ${mode} key.`}
          </MissingKeyNote>
        )}
      </>
    ),
  }));
  return (
    <>
      <Snippets snippets={snippets} />
      {everyWay && (
        <p className="mt-2 text-xs text-soft">
          The{' '}
          <a
            href="/docs/api/sending"
            target="_blank"
            rel="noreferrer"
            className="text-accent-ink underline"
          >
            API reference
          </a>{' '}
          has the same in Go, PHP, Ruby, C# and Java.
        </p>
      )}
    </>
  );
}

function useSmtpSettings(enabled: boolean): Schema<'SmtpSettings'> | undefined {
  const { api, key } = useApi();
  const settings = useQuery({
    queryKey: key('smtp'),
    queryFn: () => unwrap(api.GET('/api/v1/smtp')),
    staleTime: 60_000,
    enabled,
  });
  return settings.data;
}

export interface ExampleValues {
  token: string;
  from: string;
  to: string;
}

/** A shell command that needs these scopes, in the selected mode or the given one. */
export function ShellExample({
  scopes,
  code,
  label = 'example',
  createKey = true,
  ...chosen
}: {
  scopes: readonly Scope[];
  code: (values: ExampleValues) => string;
  label?: string;
  mode?: Mode;
  /** Whether a new key is offered if none is remembered. */
  createKey?: boolean;
}) {
  const selection = useSelection();
  const mode = chosen.mode ?? selection.mode;
  const key = useExampleKey(mode, scopes);
  const from = useSnippetSender(mode, key?.allowed_domains);
  const { email } = useMe();
  return (
    <>
      <CodeBlock
        label={label}
        language="shell"
        code={code({ token: key?.token ?? placeholderKey(mode), from, to: email })}
      />
      {!key && createKey && <MissingKeyNote mode={mode} scopes={scopes} />}
    </>
  );
}
