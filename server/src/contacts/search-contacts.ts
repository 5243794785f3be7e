import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { searchTerms } from '../db/statements/text-search.ts';
import { LAST_UUID, uuidFloor } from '../lib/ids.ts';
import {
  type Contact,
  type ContactFilter,
  findContactsById,
  type ScanBounds,
  scanContacts,
} from './contact-store.ts';

/**
 * Lists contacts. An address prefix is found by its index, however many contacts there are, and the
 * result is ordered by address. All other filters scan backwards in time, newest first. One request
 * scans a bounded number of rows: a page may be short or even empty and still have a next position.
 */

export interface ContactQuery {
  /** Terms in an address or a name; with an @ inside, an address prefix. */
  text?: string;
  locale?: string;
  attribute?: { path: readonly string[]; text: string };
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

/** The contact after which the next page starts. */
export interface ContactPosition {
  id: string;
  emailKey: string;
}

export interface ContactPage {
  contacts: Contact[];
  next: ContactPosition | null;
}

const SCAN_STEP = 2_000;
const SCANNED_MAX = 20_000;

export async function searchContacts(
  pool: Pool,
  scope: TenantScope,
  query: ContactQuery,
  page: { after: ContactPosition | undefined; limit: number },
): Promise<ContactPage> {
  const filter = toFilter(query);
  const scanMax = Object.keys(filter).length === 0 ? page.limit + 1 : SCAN_STEP;
  const found: ContactPosition[] = [];
  let after = page.after;
  for (let scanned = 0; scanned < SCANNED_MAX; scanned += scanMax) {
    const step = await scanContacts(pool, scope, filter, scanBounds(query, after), scanMax);
    for (const contact of step) {
      if (!contact.matched) continue;
      if (found.length === page.limit) return toPage(found.at(-1));
      found.push(contact);
    }
    if (step.length < scanMax) return toPage(undefined);
    after = step.at(-1);
  }
  return toPage(after);

  async function toPage(last: ContactPosition | undefined): Promise<ContactPage> {
    const ids = found.map(({ id }) => id);
    const next = last ? { id: last.id, emailKey: last.emailKey } : null;
    return { contacts: await findContactsById(pool, scope, ids), next };
  }
}

function scanBounds(query: ContactQuery, after: ContactPosition | undefined): ScanBounds {
  const sinceId = uuidFloor(query.createdAfterMs ?? 0);
  const untilId =
    query.createdBeforeMs === undefined ? LAST_UUID : uuidFloor(query.createdBeforeMs);
  const prefix = addressPrefix(query);
  if (prefix !== undefined) {
    return { sinceId, beforeId: untilId, prefix, afterKey: after?.emailKey ?? '' };
  }
  return { sinceId, beforeId: after && after.id < untilId ? after.id : untilId };
}

/** Whether contacts are ordered by address instead of newest first. */
export function isSortedByAddress(query: ContactQuery): boolean {
  return addressPrefix(query) !== undefined;
}

/** No address starts with an @: such a term searches for a domain. */
function addressPrefix({ text = '' }: ContactQuery): string | undefined {
  const address = text.trim().toLowerCase();
  return address.indexOf('@') > 0 ? address : undefined;
}

function toFilter(query: ContactQuery): ContactFilter {
  const terms = addressPrefix(query) === undefined ? searchTerms(query.text) : null;
  return {
    ...(terms === null ? {} : { searchTerms: terms }),
    ...(query.locale === undefined ? {} : { locale: query.locale.toLowerCase() }),
    ...(query.attribute === undefined ? {} : { attribute: query.attribute }),
  };
}
