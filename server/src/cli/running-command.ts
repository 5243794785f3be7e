import { AsyncLocalStorage } from 'node:async_hooks';
import { assert } from '../lib/assert.ts';
import { decodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { type Change, intentOf, toRow } from '../logs/audit-log.ts';
import {
  deleteIntents,
  insertAuditEntries,
  insertIntents,
  SERVER_LOG,
} from '../logs/audit-store.ts';
import { withoutSecrets } from '../logs/redact-request.ts';
import type { CommandInput } from './command.ts';
import type { DatabaseContext } from './command-context.ts';

/**
 * The command that is running, for the audit log. The functions that find a workspace or a person note
 * them here, before anything is changed, and `withDatabase` records the command after it has
 * succeeded, so that no command can forget to. As in logs/audit-log.ts, an intent is committed first.
 * Commands that change nothing are listed; any other one is recorded.
 */

type Parts = Pick<DatabaseContext, 'pool' | 'clock'>;

interface RunningCommand {
  name: string;
  given: Pick<CommandInput, 'arguments'> & { options: Record<string, string | true> };
  workspaces: Set<string>;
  members: Set<string>;
  intentIds: string[];
  database?: Parts;
}

export const NOT_AUDITED: ReadonlySet<string> = new Set([
  // Change nothing.
  'start',
  'router',
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
  return running.run(
    { ...command, workspaces: new Set(), members: new Set(), intentIds: [] },
    work,
  );
}

/** The running command works with this database. */
export function noteDatabase(parts: Parts): void {
  const command = running.getStore();
  if (command) command.database = parts;
}

/** The command works on this workspace. */
export async function noteWorkspace(workspaceId: string): Promise<void> {
  const command = auditedCommand();
  if (!command || command.workspaces.has(workspaceId)) return;
  command.workspaces.add(workspaceId);
  await announce(command, { workspaceId });
}

/** The command works on the server itself, not on a workspace. */
export function noteServer(): Promise<void> {
  return noteWorkspace(SERVER_LOG);
}

/** The command works on the account of this person, in all workspaces. */
export async function noteMember(memberId: string): Promise<void> {
  const command = auditedCommand();
  if (!command || command.members.has(memberId)) return;
  command.members.add(memberId);
  await announce(command, { memberId });
}

function auditedCommand(): RunningCommand | undefined {
  const command = running.getStore();
  if (!command || NOT_AUDITED.has(command.name)) return undefined;
  const needed = CHANGES_WITH[command.name];
  return needed !== undefined && command.given.options[needed] === undefined ? undefined : command;
}

async function announce(command: RunningCommand, where: Change['where']): Promise<void> {
  assert(command.database, 'a command that finds something has a database');
  const { pool, clock } = command.database;
  const intent = intentOf(changeOf(command, where, null), clock.now());
  command.intentIds.push(intent.id);
  await insertIntents(pool, [intent]);
}

/** Records the running command after its work was committed. */
export async function recordCommand({ pool, clock }: Parts, result: unknown): Promise<void> {
  const command = auditedCommand();
  if (!command) return;
  const { workspaces, members, intentIds } = command;
  const target = idOf(result);
  const created = target === null ? undefined : decodeId('wsp', target);
  if (created !== undefined) workspaces.add(created);
  // A command for one workspace may name a person in it.
  const where =
    workspaces.size > 0
      ? [...workspaces].map((workspaceId) => ({ workspaceId }))
      : [...members].map((memberId) => ({ memberId }));
  const rows = where.map((place) => toRow(changeOf(command, place, target), clock.now()));
  if (rows.length > 0) await insertAuditEntries(pool, rows, intentIds);
}

/** The running command failed. Only a refusal says that nothing has changed. Never rejects. */
export async function withdrawCommand({ pool }: Parts, error: unknown): Promise<void> {
  const { intentIds = [] } = auditedCommand() ?? {};
  if (!(error instanceof RefusedError) || intentIds.length === 0) return;
  // The refusal is what the user needs to see; an intent that stays becomes an entry.
  await deleteIntents(pool, intentIds).catch(() => {});
}

function changeOf(
  { name, given }: RunningCommand,
  where: Change['where'],
  target: string | null,
): Change {
  const details = withoutSecrets({ arguments: given.arguments, options: given.options });
  return { where, mode: null, action: name, actor: 'cli', target, client: null, details };
}

/** The id of what the command returned. */
function idOf(result: unknown): string | null {
  const { data } = (result ?? {}) as { data?: { id?: unknown } };
  return typeof data?.id === 'string' ? data.id : null;
}
