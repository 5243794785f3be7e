import type { Queryable } from '../db/pool.ts';
import { appendEvents } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import type { Domain } from './domain.ts';
import { absentRecords, sendingStopsAtMs } from './domain-status.ts';
import { findVerifiedElsewhere } from './domain-store.ts';
import type { RecordState } from './record-states.ts';

/** What is told of domains, each in the commit of the change. Domains are of both modes: told as live. */

/**
 * The domain may send from now on. Whoever has the same domain, or one above it, verified in another
 * workspace learns of it: the owner of the zone let us in by publishing our token, but nobody's name
 * is taken into use behind their back.
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

/** A record is gone (status `degraded`), or was gone for so long that sending stopped (`failed`). */
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

/** The name itself and every domain above it that could be somebody's. */
function namesAbove(name: string): string[] {
  const labels = name.split('.');
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'));
}
