import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { apiFor, type Schema, unwrap } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { showErrorToast } from '../../layout/toasts.tsx';
import { createStore, useStore } from '../../lib/store.ts';
import { type Mode, useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import type { SesSecrets } from './client-snippets.ts';
import { isAvailable, type Scope } from './scopes.ts';

/**
 * The key in examples, so that they work when pasted: the test key created last, if it has the
 * permissions. Test keys are remembered in memory only, live keys never.
 */
export type ExampleKey = Pick<
  Schema<'ApiKeyWithToken'>,
  'id' | 'token' | 'scopes' | 'allowed_domains'
> & { ses?: SesSecrets };

const testKeys = createStore<Readonly<Record<string, ExampleKey>>>({});

export function rememberTestKey(workspaceId: string | null, key: Schema<'ApiKeyWithToken'>): void {
  // A key for certain IP addresses may not work in the user's shell.
  if (key.mode !== 'test' || key.allowed_ips.length > 0) return;
  testKeys.set({ ...testKeys.get(), [workspaceId ?? '']: key });
}

export function forgetTestKey(id: string): void {
  const kept = Object.entries(testKeys.get()).filter(([, key]) => key.id !== id);
  testKeys.set(Object.fromEntries(kept));
}

/** Keeps SES credentials with their key, if it is remembered. */
export function rememberSesSecrets(id: string, ses: SesSecrets): void {
  const keys = Object.entries(testKeys.get());
  testKeys.set(
    Object.fromEntries(keys.map(([name, key]) => [name, key.id === id ? { ...key, ses } : key])),
  );
}

/** A key of this mode with these scopes, if one is remembered. */
export function useExampleKey(mode: Mode, scopes: readonly Scope[]): ExampleKey | undefined {
  const { workspaceId } = useSelection();
  const key = useStore(testKeys)[workspaceId ?? ''];
  if (mode === 'live' || !key) return undefined;
  return scopes.every((scope) => (key.scopes as string[]).includes(scope)) ? key : undefined;
}

export function placeholderKey(mode: Mode): string {
  return `pr_${mode}_…`;
}

/** What a key for all examples of the dashboard needs. */
const EXAMPLE_SCOPES: readonly Scope[] = [
  'send:transactional',
  'read:messages',
  'write:inbound_messages',
  'read:events',
  'write:templates',
  'write:contacts',
  'write:suppressions',
  'write:webhooks',
];

/** Below an example with a placeholder: creates a test key and fills it in. */
export function MissingKeyNote({
  mode,
  scopes,
  children,
}: {
  mode: Mode;
  scopes: readonly Scope[];
  /** What to replace, if it is not the key itself. */
  children?: ReactNode;
}) {
  const selection = useSelection();
  const queries = useQueryClient();
  const can = useCan();
  const creating = useMutation({
    mutationFn: () =>
      unwrap(
        apiFor({ ...selection, mode: 'test' }).POST('/api/v1/api-keys', {
          body: {
            name: 'Examples',
            scopes: EXAMPLE_SCOPES.filter((scope) => isAvailable(scope, 'test') && can(scope)),
          },
        }),
      ),
    onSuccess: (key) => {
      rememberTestKey(selection.workspaceId, key);
      return queries.invalidateQueries({ queryKey: ['api-keys'] });
    },
    onError: showErrorToast,
  });
  const canCreate = can('write:api_keys');
  return (
    <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-1.5 text-xs text-faint">
      <p>
        {children || (
          <>
            Replace <code className="font-mono">{placeholderKey(mode)}</code> with your {mode} key.
          </>
        )}
      </p>
      {canCreate && mode === 'test' && scopes.every((scope) => can(scope)) && (
        <Button
          size="small"
          icon={KeyRound}
          busy={creating.isPending}
          onClick={() => creating.mutate()}
        >
          Use a new test key
        </Button>
      )}
      {canCreate && mode === 'live' && (
        <Link
          to="/api-keys"
          search={{ new: 'true' }}
          className="font-medium text-accent-ink hover:underline"
        >
          Create live key
        </Link>
      )}
    </div>
  );
}
