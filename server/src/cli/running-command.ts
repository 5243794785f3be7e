import { AsyncLocalStorage } from 'node:async_hooks';
import { decodeId } from '../lib/ids.ts';
import { SERVER_LOG, toRow } from '../logs/audit-log.ts';
import { insertAuditEntries } from '../logs/audit-store.ts';
import { withoutSecrets } from '../logs/redact-request.ts';
import type { CommandInput } from './command.ts';
import type { DatabaseContext } from './command-context.ts';

/**
 * The command that is running, for the audit log. The functions that find a workspace or a person note
 * them here, and `withDatabase` records the command after it has succeeded, so that no command can
 * forget to. Commands that change nothing are listed; any other one is recorded.
 */

interface RunningCommand {
  name: string;
  given: Pick<CommandInput, 'arguments'> & { options: Record<string, string | true> };
  workspaces: Set<string>;
  members: Set<string>;
}

export const NOT_AUDITED: ReadonlySet<string> = new Set([
  // Change nothing.
  'start',
  'doctor',
  'backup',
  'queue',
  'operator-keys list',
  'workspaces list',
  'workspaces deletions',
  'people list',
  'keys list',
  'domains list',
  'streams list',
  'templates pull',
  'templates diff',
  // The message is the record.
  'send',
]);

/** Commands that change something only with an option. */
const CHANGES_WITH: Readonly<Record<string, string>> = { 'suppressions review': 'remove' };

const running = new AsyncLocalStorage<RunningCommand>();

export function runAudited<T>(
  command: Pick<RunningCommand, 'name' | 'given'>,
  work: () => Promise<T>,
): Promise<T> {
  return running.run({ ...command, workspaces: new Set(), members: new Set() }, work);
}

/** The command works on this workspace. */
export function noteWorkspace(id: string): void {
  running.getStore()?.workspaces.add(id);
}

/** The command works on the server itself, not on a workspace. */
export function noteServer(): void {
  noteWorkspace(SERVER_LOG);
}

/** The command works on the account of this person, in all workspaces. */
export function noteMember(id: string): void {
  running.getStore()?.members.add(id);
}

/** Records the running command after its work was committed. */
export async function recordCommand(
  { pool, clock }: Pick<DatabaseContext, 'pool' | 'clock'>,
  result: unknown,
): Promise<void> {
  const command = running.getStore();
  if (!command || NOT_AUDITED.has(command.name)) return;
  const { name, given, workspaces, members } = command;
  const needed = CHANGES_WITH[name];
  if (needed !== undefined && given.options[needed] === undefined) return;
  const target = idOf(result);
  const created = target === null ? undefined : decodeId('wsp', target);
  if (created !== undefined) workspaces.add(created);
  // A command for one workspace may name a person in it.
  const where =
    workspaces.size > 0
      ? [...workspaces].map((workspaceId) => ({ workspaceId }))
      : [...members].map((memberId) => ({ memberId }));
  if (where.length === 0) return;
  const details = withoutSecrets({ arguments: given.arguments, options: given.options });
  const change = { mode: null, action: name, actor: 'cli', target, client: null, details };
  const rows = where.map((place) => toRow({ ...change, where: place }, clock.now()));
  await insertAuditEntries(pool, rows);
}

/** The id of what the command returned. */
function idOf(result: unknown): string | null {
  const { data } = (result ?? {}) as { data?: { id?: unknown } };
  return typeof data?.id === 'string' ? data.id : null;
}
