import type { ScriptedDnsServer } from './dns-server.ts';

/** A record as the API lists it. */
export interface ListedRecord {
  purpose: string;
  type: 'TXT' | 'MX' | 'CNAME';
  name: string;
  value: string;
  required: boolean;
  status: string;
  found: string[];
  mistakes: { code: string; detail: string }[];
}

/** Does what a domain's owner does: enters the records into the zone as they were given. */
export function publishRecords(dns: ScriptedDnsServer, records: readonly ListedRecord[]): void {
  for (const { type, name, value } of records) {
    if (type === 'CNAME') dns.set(name, type, value);
    else dns.set(name, type, [value]);
  }
}
