import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { csvLine } from '../lib/csv-line.ts';
import { uuidFloor } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { SUBSCRIPTION_COLUMN_PREFIX } from './contact-fields.ts';
import { readAttributeNames, readContacts } from './contact-store.ts';
import type { ContactSubscriptions, SubscribedContact } from './contact-subscriptions.ts';
import { publicContact } from './contacts.ts';

/**
 * Exports all contacts of a workspace as a stream of text, oldest first: as NDJSON, which can be
 * imported again without loss, or as CSV with columns for each subscription stream and each
 * attribute. It reads a page at a time, on demand, so its memory does not depend on the number of
 * contacts.
 */

export type ExportFormat = 'ndjson' | 'csv';

const ROWS_MAX = 250;
/** Each contact may have thousands of attribute names. */
const NAMES_ROWS_MAX = 500;
const COLUMNS_MAX = 1_000;
const FIRST_UUID = uuidFloor(0);

/** Reads the first page before returning, so that a database error becomes an error response. */
export async function exportContacts(
  pool: Pool,
  scope: TenantScope,
  subscriptions: ContactSubscriptions,
  format: ExportFormat,
): Promise<AsyncIterable<string>> {
  const formatter =
    format === 'csv'
      ? csvFormatter(
          await subscriptions.streams(scope.workspaceId),
          await attributeNames(pool, scope),
        )
      : ndjsonFormatter(scope);
  const read = async (afterId: string): Promise<SubscribedContact[]> =>
    subscriptions.of(pool, scope, await readContacts(pool, scope, afterId, ROWS_MAX));
  return exportChunks(read, await read(FIRST_UUID), formatter);
}

interface ExportFormatter {
  head: string;
  line: (contact: SubscribedContact) => string;
}

async function* exportChunks(
  read: (afterId: string) => Promise<SubscribedContact[]>,
  first: SubscribedContact[],
  { head, line }: ExportFormatter,
): AsyncGenerator<string> {
  if (head !== '') yield head;
  for (let contacts = first; contacts.length > 0; ) {
    yield contacts.map(line).join('');
    const last = contacts.at(-1) as SubscribedContact;
    contacts = contacts.length < ROWS_MAX ? [] : await read(last.id);
  }
}

function ndjsonFormatter(scope: TenantScope): ExportFormatter {
  return { head: '', line: (contact) => `${JSON.stringify(publicContact(scope, contact))}\n` };
}

function csvFormatter(streams: readonly string[], names: readonly string[]): ExportFormatter {
  const own = ['email', 'first_name', 'last_name', 'locale', 'created_at', 'updated_at'];
  const chosen = streams.flatMap((stream) => {
    const column = `${SUBSCRIPTION_COLUMN_PREFIX}${stream}`;
    return [column, `${column}:changed_at`, `${column}:source`];
  });
  return {
    head: csvLine([...own, ...chosen, ...names]),
    line: ({ attributes, subscriptions, ...contact }) =>
      csvLine([
        contact.email,
        contact.firstName,
        contact.lastName,
        contact.locale,
        new Date(contact.createdAtMs).toISOString(),
        new Date(contact.updatedAtMs).toISOString(),
        ...streams.flatMap((stream) => {
          const one = subscriptions.find((subscription) => subscription.stream === stream);
          if (!one) return [null, null, null];
          return [one.status, new Date(one.changedAtMs).toISOString(), one.source];
        }),
        ...names.map((name) => (Object.hasOwn(attributes, name) ? attributes[name] : null)),
      ]),
  };
}

/** All attribute names in use: a CSV file must name its columns on its first line. */
async function attributeNames(pool: Pool, scope: TenantScope): Promise<string[]> {
  const names = new Set<string>();
  for (let after: string | null = FIRST_UUID; after !== null; ) {
    const part: Awaited<ReturnType<typeof readAttributeNames>> = await readAttributeNames(
      pool,
      scope,
      after,
      NAMES_ROWS_MAX,
      COLUMNS_MAX + 1,
    );
    for (const name of part.names) names.add(name);
    if (names.size > COLUMNS_MAX) throw tooManyColumns();
    after = part.lastId;
  }
  return [...names].sort();
}

function tooManyColumns(): RefusedError {
  const detail = `The contacts have more than ${COLUMNS_MAX} different attributes, too many for CSV columns. Use ndjson.`;
  return new RefusedError('validation_failed', `format: ${detail}`, {
    errors: [{ parameter: 'format', code: 'too_many_columns', detail }],
  });
}
