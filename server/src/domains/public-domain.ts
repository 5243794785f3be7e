import { encodeId } from '../lib/ids.ts';
import { timeOrNull } from '../lib/time/rfc3339.ts';
import type { Domain } from './domain.ts';
import type { RecordState } from './record-states.ts';

/** A domain with the current state of its records, and its published keys in the same order. */
export interface DomainView extends Domain {
  records: readonly RecordState[];
  sendingStopsAtMs: number | null;
}

/** The public representation, the same in API responses and CLI output. */
export function publicDomain(domain: DomainView) {
  return {
    id: encodeId('dom', domain.id),
    name: domain.name,
    status: domain.status,
    trusted: domain.trusted,
    records: domain.records.map(publicRecord),
    dkim_keys: domain.keys.map(({ selector, algorithm, slot, createdAtMs, retiredAtMs }) => ({
      selector,
      algorithm,
      slot,
      created_at: new Date(createdAtMs).toISOString(),
      retired_at: timeOrNull(retiredAtMs),
    })),
    return_path_host: domain.returnPathHost,
    tracking_host: domain.trackingHost,
    tls: domain.tls,
    tracking: { opens: domain.trackOpens, clicks: domain.trackClicks },
    receiving: domain.receiving,
    created_at: new Date(domain.createdAtMs).toISOString(),
    verified_at: timeOrNull(domain.verifiedAtMs),
    checked_at: timeOrNull(domain.checkedAtMs),
    next_check_at: timeOrNull(domain.checkDueAtMs),
    sending_stops_at: timeOrNull(domain.sendingStopsAtMs),
  };
}

function publicRecord(record: RecordState) {
  const { purpose, type, name, value, required, explanation, status, found, mistakes } = record;
  return { purpose, type, name, value, required, explanation, status, found, mistakes };
}
