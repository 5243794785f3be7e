import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import { decodeId, encodeId, uuidFloor, uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import {
  type AuditEntry,
  type AuditFilter,
  insertAuditEntries,
  type NewAuditRow,
  scanAuditEntries,
} from './audit-store.ts';
import { type LogPage, scanPage } from './scan-pages.ts';

/**
 * The audit log: who changed what, when and from where. An entry is written after the change was
 * committed and before the caller is answered, so a caller that was answered finds it. Concurrent
 * entries share a commit. An entry that cannot be stored goes to the server's log instead: the change
 * has happened, and an error would claim the opposite.
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

/** Stands for a workspace in the log of the server itself, which no workspace can read. */
export const SERVER_LOG = '00000000-0000-0000-0000-000000000000';

const USER_AGENT_CHARS_MAX = 200;
const TARGET_CHARS_MAX = 200;

export class AuditLog {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #commits: GroupCommit<NewAuditRow, undefined>;

  constructor(parts: { pool: Pool; clock: Clock; log: Log }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#commits = new GroupCommit({
      commit: async (rows) => {
        await insertAuditEntries(parts.pool, rows);
        return rows.map(() => undefined);
      },
      isItemError: () => false,
      groupItemsMax: 200,
      groupBytesMax: 1024 * 1024,
      groupsInFlightMax: 2,
      waitingItemsMax: 10_000,
      waitingBytesMax: 16 * 1024 * 1024,
    });
  }

  /** Never rejects. */
  async record(change: Change): Promise<void> {
    const row = toRow(change, this.#clock.now());
    try {
      await this.#commits.add(row, row.details.length + 500);
    } catch (error) {
      this.#log.error({ err: error, entry: row }, 'audit entry not stored');
    }
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

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export function toRow(change: Change, nowMs: number): NewAuditRow {
  const { where, mode, action, actor, target, client } = change;
  const keyId = decodeId('key', actor);
  const personId = decodeId('usr', actor);
  const operatorKeyId = decodeId('opk', actor);
  return {
    workspace_id: 'workspaceId' in where ? where.workspaceId : null,
    member_id: 'memberId' in where ? where.memberId : null,
    id: uuidv7(nowMs),
    created_at: nowMs,
    mode,
    action,
    actor_type:
      keyId !== undefined
        ? 'api_key'
        : personId !== undefined
          ? 'user'
          : operatorKeyId !== undefined
            ? 'operator_key'
            : 'cli',
    actor_id: keyId ?? personId ?? operatorKeyId ?? null,
    target: target?.slice(0, TARGET_CHARS_MAX) ?? null,
    request_id: client ? (decodeId('req', client.requestId) ?? null) : null,
    ip: client?.ip ?? null,
    user_agent: client?.userAgent.slice(0, USER_AGENT_CHARS_MAX) ?? null,
    details: JSON.stringify(change.details),
  };
}

const ACTOR_PREFIXES = { api_key: 'key', user: 'usr', operator_key: 'opk' } as const;

export function publicAuditEntry(entry: AuditEntry) {
  const { actorType: type, actorId } = entry;
  return {
    id: encodeId('aud', entry.id),
    created_at: new Date(entry.createdAtMs).toISOString(),
    mode: entry.mode,
    action: entry.action,
    actor: {
      type,
      id: type === 'cli' || actorId === null ? null : encodeId(ACTOR_PREFIXES[type], actorId),
      name: entry.actorName,
    },
    target: entry.target,
    request_id: entry.requestId === null ? null : encodeId('req', entry.requestId),
    ip: entry.ip,
    user_agent: entry.userAgent,
    details: entry.details,
  };
}
