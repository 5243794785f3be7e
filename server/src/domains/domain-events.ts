import type { Queryable } from '../db/connections/pool.ts';
import { appendEvents } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import type { Domain } from './domain.ts';
import { absentRecords, sendingStopsAtMs } from './domain-status.ts';
import { findVerifiedElsewhere } from './domain-store.ts';
import type { RecordState } from './record-states.ts';

/**
 * Domain events, each appended in the transaction of the change. Domains are shared by both modes,
 * so their events are always live.
 */

/**
 * Records that the domain can send. Other workspaces that have verified the same domain or a parent
 * are notified: the zone's owner authorized this workspace by publishing its token, but should know
 * that the name is used elsewhere.
 */
export async function appendVerifiedEvents(
  db: Queryable,
  before: Pick<Domain, 'status'>,
  domain: Domain,
  nowMs: number,
): Promise<void> {
  await append(db, domain.workspaceId, 'domain.verified', nowMs, { domain: domainSummary(domain) });
  if (before.status === 'degraded') return;
  const names = namesAbove(domain.name);
  for (const other of await findVerifiedElsewhere(db, domain.workspaceId, names)) {
    const data = { domain: domainSummary(other), claimed_name: domain.name };
    await append(db, other.workspaceId, 'domain.claimed', nowMs, data);
  }
}

/**
 * Records that a required record is missing (status `degraded`), or was missing for so long that
 * sending stopped (`failed`).
 */
export async function appendDegradedEvent(
  db: Queryable,
  domain: Domain,
  records: readonly RecordState[],
  { nowMs, graceMs }: { nowMs: number; graceMs: number },
): Promise<void> {
  const stopsAtMs = sendingStopsAtMs(domain, records, graceMs);
  await append(db, domain.workspaceId, 'domain.degraded', nowMs, {
    domain: domainSummary(domain),
    sending_stops_at: stopsAtMs === null ? null : new Date(stopsAtMs).toISOString(),
    records: absentRecords(domain, records).map(
      ({ purpose, type, name, value, status, found, mistakes }) => ({
        purpose,
        type,
        name,
        value,
        status,
        found,
        mistakes,
      }),
    ),
  });
}

async function append(
  db: Queryable,
  workspaceId: string,
  type: 'domain.verified' | 'domain.degraded' | 'domain.claimed',
  atMs: number,
  data: object,
): Promise<void> {
  await appendEvents(db, [{ workspaceId, mode: 'live', type, atMs, data }]);
}

function domainSummary({ id, name, status }: Pick<Domain, 'id' | 'name' | 'status'>) {
  return { id: encodeId('dom', id), name, status };
}

/** The name itself and every parent domain that could be registered. */
function namesAbove(name: string): string[] {
  const labels = name.split('.');
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'));
}
