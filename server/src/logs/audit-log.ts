import type { Mode } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { decodeId, encodeId, LAST_UUID, uuidFloor, uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { GroupCommit } from '../lib/scheduling/group-commit.ts';
import type { Clock } from '../lib/time/clock.ts';
import {
  type AuditEntry,
  type AuditFilter,
  type AuditOutcome,
  deleteIntents,
  type Intent,
  insertAuditEntries,
  insertIntents,
  type NewAuditRow,
  scanAuditEntries,
  takeOldIntents,
} from './audit-store.ts';
import { type LogPage, scanPage } from './scan-pages.ts';

/**
 * The audit log: who changed what, when and from where. An intent is committed before a change is made,
 * and replaced by the entry after it, before the caller is answered. So a caller that was answered
 * finds the entry, and if the process or the database fails in between, the intent becomes an entry
 * with the outcome `unknown`: no change is without one. Concurrent writes share a commit.
 */

export interface Change {
  /**
   * Exactly one of them; a change of an account is in the log of every workspace of its member. The log
   * of the server itself is that of `SERVER_LOG`.
   */
  where: { workspaceId: string } | { memberId: string };
  mode: Mode | null;
  /** The operationId, or the command as typed. */
  action: string;
  /** The public id of an API key, a person or an operator key, or `cli`. */
  actor: string;
  target: string | null;
  /** Null on the command line, and for what the operator did in the log of a workspace. */
  client: { ip: string; userAgent: string; requestId: string } | null;
  details: object;
}

const USER_AGENT_CHARS_MAX = 200;
const TARGET_CHARS_MAX = 200;

export class AuditLog {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #intents: GroupCommit<Intent, undefined>;
  readonly #entries: GroupCommit<{ row: NewAuditRow; intentId: string | undefined }, undefined>;

  constructor(parts: { pool: Pool; clock: Clock; log: Log }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#log = parts.log;
    const { pool } = parts;
    this.#intents = new GroupCommit({
      ...COMMITS,
      commit: async (intents) => {
        await insertIntents(pool, intents);
        return intents.map(() => undefined);
      },
    });
    this.#entries = new GroupCommit({
      ...COMMITS,
      commit: async (entries) => {
        const finished = entries.flatMap(({ intentId }) => intentId ?? []);
        await insertAuditEntries(
          pool,
          entries.map(({ row }) => row),
          finished,
        );
        return entries.map(() => undefined);
      },
    });
  }

  /** Announces a change that is about to be made. Returns what `record` or `withdraw` needs. */
  async begin(change: Change): Promise<string> {
    const intent = intentOf(change, this.#clock.now());
    await this.#intents.add(intent, intent.change.length + 100);
    return intent.id;
  }

  /** The announced change was refused: nothing has changed. Never rejects. */
  async withdraw(intentId: string): Promise<void> {
    await deleteIntents(this.#pool, [intentId]).catch((error) =>
      this.#log.warn({ err: error }, 'audit intent not withdrawn'),
    );
  }

  /** Records a change that was made. Never rejects: the change has happened. */
  async record(change: Change, intentId?: string): Promise<void> {
    const row = toRow(change, this.#clock.now());
    try {
      await this.#entries.add({ row, intentId }, row.details.length * 2 + 1000);
    } catch (error) {
      this.#log.error({ err: error, entry: row }, 'audit entry not stored');
    }
  }

  /** Turns intents whose change did not end, or whose end is not known, into entries. */
  async recordUnfinished(): Promise<void> {
    const nowMs = this.#clock.now();
    let taken = 0;
    do {
      taken = await inTransaction(this.#pool, async (client) => {
        const old = await takeOldIntents<Change>(client, nowMs - UNFINISHED_MS, UNFINISHED_BATCH);
        const rows = old.map(({ createdAtMs, change }) => {
          const started_at = new Date(createdAtMs).toISOString();
          const details = { ...change.details, started_at };
          return toRow({ ...change, details }, nowMs, 'unknown');
        });
        if (rows.length > 0) await insertAuditEntries(client, rows);
        return rows.length;
      });
    } while (taken === UNFINISHED_BATCH);
  }

  list(
    workspaceId: string,
    filter: AuditFilter & { createdAfterMs?: number; createdBeforeMs?: number },
    page: { beforeId: string | undefined; limit: number },
  ): Promise<LogPage<AuditEntry>> {
    const { createdAfterMs = 0, createdBeforeMs, ...own } = filter;
    const endId = createdBeforeMs === undefined ? LAST_UUID : uuidFloor(createdBeforeMs);
    const { beforeId = endId, limit } = page;
    const bounds = {
      beforeId: beforeId < endId ? beforeId : endId,
      sinceId: uuidFloor(createdAfterMs),
      limit,
      isFiltered: Object.keys(own).length > 0,
    };
    return scanPage(bounds, (step) => scanAuditEntries(this.#pool, workspaceId, own, step));
  }
}

/**
 * No operation takes longer; its deadline is a minute, that of an import's upload a few. A command that
 * does has a second entry when it ends.
 */
const UNFINISHED_MS = 15 * 60_000;
const UNFINISHED_BATCH = 500;

const COMMITS = {
  isItemError: () => false,
  groupItemsMax: 200,
  groupBytesMax: 1024 * 1024,
  groupsInFlightMax: 2,
  waitingItemsMax: 10_000,
  waitingBytesMax: 16 * 1024 * 1024,
};

export function intentOf(change: Change, nowMs: number): Intent {
  return { id: uuidv7(nowMs), created_at: nowMs, change: JSON.stringify(change) };
}

export function toRow(
  change: Change,
  nowMs: number,
  outcome: AuditOutcome = 'succeeded',
): NewAuditRow {
  const { where, mode, action, actor, target, client, details } = change;
  const keyId = decodeId('key', actor);
  const personId = decodeId('usr', actor);
  const operatorKeyId = decodeId('opk', actor);
  const entry: Omit<AuditEntry, 'actorName'> = {
    id: uuidv7(nowMs),
    createdAtMs: nowMs,
    mode,
    action,
    actorType:
      keyId !== undefined
        ? 'api_key'
        : personId !== undefined
          ? 'user'
          : operatorKeyId !== undefined
            ? 'operator_key'
            : 'cli',
    actorId: keyId ?? personId ?? operatorKeyId ?? null,
    target: target === null ? null : storable(target.slice(0, TARGET_CHARS_MAX)),
    requestId: client ? (decodeId('req', client.requestId) ?? null) : null,
    ip: client?.ip ?? null,
    userAgent: client?.userAgent.slice(0, USER_AGENT_CHARS_MAX) ?? null,
    outcome,
    details: details as Record<string, unknown>,
  };
  return {
    workspace_id: 'workspaceId' in where ? where.workspaceId : null,
    member_id: 'memberId' in where ? where.memberId : null,
    id: entry.id,
    created_at: nowMs,
    mode,
    action,
    actor_type: entry.actorType,
    actor_id: entry.actorId,
    target: entry.target,
    request_id: entry.requestId,
    ip: entry.ip,
    user_agent: entry.userAgent,
    outcome,
    details: toJson(details),
    event_data: toJson({ entry: publicFields(entry) }),
  };
}

/** A path or a query may contain NUL or half of a character, which the database does not take. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

function toJson(value: object): string {
  return JSON.stringify(value, (_name, one) => (typeof one === 'string' ? storable(one) : one));
}

const ACTOR_PREFIXES = { api_key: 'key', user: 'usr', operator_key: 'opk' } as const;

/** The entry as the API returns it. */
export function publicAuditEntry({ actorName, ...entry }: AuditEntry) {
  const shown = publicFields(entry);
  return { ...shown, actor: { ...shown.actor, name: actorName } };
}

/** An event has no names: it is never changed, and a name can be, or must be erased. */
function publicFields(entry: Omit<AuditEntry, 'actorName'>) {
  const { actorType: type, actorId } = entry;
  return {
    id: encodeId('aud', entry.id),
    created_at: new Date(entry.createdAtMs).toISOString(),
    mode: entry.mode,
    action: entry.action,
    actor: {
      type,
      id: type === 'cli' || actorId === null ? null : encodeId(ACTOR_PREFIXES[type], actorId),
    },
    target: entry.target,
    request_id: entry.requestId === null ? null : encodeId('req', entry.requestId),
    ip: entry.ip,
    user_agent: entry.userAgent,
    outcome: entry.outcome,
    details: entry.details,
  };
}
