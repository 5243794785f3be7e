import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { isAddressHash } from './erased-address.ts';
import { deleteSuppressions, EVERYWHERE, type Suppression } from './suppression-store.ts';

/** An entry of the suppression list: created, shown, and deleted together with its event. */

export function newEntry(
  wanted: {
    key: string;
    stream: string;
    email: string | null;
    domain: string | null;
    change: Partial<Pick<Suppression, 'reason' | 'note' | 'expiresAtMs'>>;
  },
  nowMs: number,
): Suppression {
  const { key, stream, email, domain, change } = wanted;
  const fields = { reason: 'manual', note: null, expiresAtMs: null, ...change } as const;
  const id = uuidv7(nowMs);
  return { key, stream, id, email, domain, evidence: null, createdAtMs: nowMs, ...fields };
}

/** The public form of an entry: in the API and in events. */
export function publicSuppression(entry: Suppression) {
  return {
    id: encodeId('sup', entry.id),
    email: entry.email,
    domain: entry.domain,
    stream: entry.stream === EVERYWHERE ? null : entry.stream,
    reason: entry.reason,
    evidence: entry.evidence,
    note: entry.note,
    erased: isAddressHash(entry.key),
    created_at: new Date(entry.createdAtMs).toISOString(),
    expires_at: entry.expiresAtMs === null ? null : new Date(entry.expiresAtMs).toISOString(),
  };
}

/** The recipient left this one stream, and can come back. */
export function isUnsubscribe({ stream, reason }: Suppression): boolean {
  return stream !== EVERYWHERE && reason === 'unsubscribe';
}

/** An event about an address that is being erased must not contain it. */
export function anonymized(entry: Suppression): Suppression {
  return { ...entry, key: '#', email: null, evidence: null, note: null };
}

export async function deleteEntries(
  client: Queryable,
  scope: TenantScope,
  entries: readonly Suppression[],
  nowMs: number,
): Promise<void> {
  await deleteSuppressions(client, scope, entries);
  await appendSuppressionEvents(client, 'suppression.deleted', scope, entries, nowMs);
}

export async function appendSuppressionEvents(
  client: Queryable,
  type: SuppressionEvent,
  scope: TenantScope,
  entries: readonly Suppression[],
  atMs: number,
): Promise<void> {
  await appendEvents(
    client,
    entries.map((entry) => suppressionEvent(type, scope, entry, atMs)),
  );
}

type SuppressionEvent = 'suppression.created' | 'suppression.deleted';

export function suppressionEvent(
  type: SuppressionEvent,
  { workspaceId, mode }: TenantScope,
  entry: Suppression,
  atMs: number,
): NewEvent {
  return { workspaceId, mode, type, atMs, data: { suppression: publicSuppression(entry) } };
}
