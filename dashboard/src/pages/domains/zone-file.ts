import type { Schema } from '../../api/client.ts';

type DomainRecord = Pick<Schema<'DomainRecord'>, 'type' | 'name' | 'value'>;

/** Long enough for caches, short enough to correct a mistake on the same day. */
export const RECORD_TTL_SECONDS = 3600;

/** A character string of a TXT record holds at most 255 octets (RFC 1035 section 3.3). */
const STRING_OCTETS_MAX = 255;

/** The priority of an MX record is part of its value in DNS, but a field of its own in most forms. */
export function splitValue({ type, value }: DomainRecord): { priority: string; value: string } {
  const [, priority = '', host = ''] = /^(\d+) (\S+)$/.exec(value) ?? [];
  return type === 'MX' && host !== '' ? { priority, value: host } : { priority: '', value };
}

/** The records in the format of zone files (RFC 1035 section 5), which many DNS providers import. */
export function zoneFile(records: readonly DomainRecord[]): string {
  const lines = records.map((record) => {
    const { priority, value } = splitValue(record);
    const head = `${record.name}. ${RECORD_TTL_SECONDS} IN ${record.type}`;
    if (record.type === 'TXT') return `${head} ${quotedStrings(value)}`;
    return [head, priority, `${value}.`].filter(Boolean).join(' ');
  });
  return `${lines.join('\n')}\n`;
}

/** The values that we publish are ASCII. */
function quotedStrings(text: string): string {
  const strings = text.match(new RegExp(`.{1,${STRING_OCTETS_MAX}}`, 'gs')) ?? [''];
  return strings.map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(' ');
}

/** The name as providers expect it that append the zone: `@` for the zone itself. */
export function relativeName(name: string, zone: string): string {
  if (name === zone) return '@';
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
}
