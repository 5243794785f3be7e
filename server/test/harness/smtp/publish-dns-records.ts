import type { ScriptedDnsServer } from './dns-server.ts';

/** A DNS record as returned by the API. */
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

/** Publishes the records in the scripted DNS server, as the domain's owner would. */
export function publishRecords(dns: ScriptedDnsServer, records: readonly ListedRecord[]): void {
  for (const { type, name, value } of records) {
    if (type === 'CNAME') dns.set(name, type, value);
    else dns.set(name, type, [value]);
  }
}
