import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { csvLine } from '../lib/csv-line.ts';
import { uuidFloor } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { type Contact, readAttributeNames, readContacts } from './contact-store.ts';
import { publicContact } from './contacts.ts';

/**
 * Exports all contacts of a workspace as a stream of text, oldest first: as NDJSON, which can be
 * imported again without loss, or as CSV with a column for each attribute. It reads a page at a
 * time, on demand, so its memory does not depend on the number of contacts.
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
  format: ExportFormat,
): Promise<AsyncIterable<string>> {
  const names = format === 'csv' ? await attributeNames(pool, scope) : [];
  const first = await readContacts(pool, scope, FIRST_UUID, ROWS_MAX);
  return exportChunks(
    pool,
    scope,
    first,
    format === 'csv' ? csvFormatter(names) : ndjsonFormatter(scope),
  );
}

interface ExportFormatter {
  head: string;
  line: (contact: Contact) => string;
}

async function* exportChunks(
  pool: Pool,
  scope: TenantScope,
  first: Contact[],
  { head, line }: ExportFormatter,
): AsyncGenerator<string> {
  if (head !== '') yield head;
  for (let contacts = first; contacts.length > 0; ) {
    yield contacts.map(line).join('');
    const last = contacts.at(-1) as Contact;
    contacts = contacts.length < ROWS_MAX ? [] : await readContacts(pool, scope, last.id, ROWS_MAX);
  }
}

function ndjsonFormatter(scope: TenantScope): ExportFormatter {
  return { head: '', line: (contact) => `${JSON.stringify(publicContact(scope, contact))}\n` };
}

function csvFormatter(names: readonly string[]): ExportFormatter {
  const own = ['email', 'first_name', 'last_name', 'locale', 'created_at', 'updated_at'];
  return {
    head: csvLine([...own, ...names]),
    line: ({ attributes, ...contact }) =>
      csvLine([
        contact.email,
        contact.firstName,
        contact.lastName,
        contact.locale,
        new Date(contact.createdAtMs).toISOString(),
        new Date(contact.updatedAtMs).toISOString(),
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
