import type { Pool } from '../db/pool.ts';
import { searchWords } from '../db/search-words.ts';
import { uuidFloor } from '../lib/ids.ts';
import {
  type Contact,
  type ContactFilter,
  type ContactScope,
  findContactsById,
  type WalkBounds,
  walkContacts,
} from './contact-store.ts';

/**
 * The list of contacts. The beginning of an address is found by its index, however many contacts
 * there are, and answered in order of addresses. Everything else walks back through time, newest
 * first, and leaves out what does not fit. One request walks only so far: a page may be short, or
 * even empty, and still have a place to go on from.
 */

export interface ContactQuery {
  /** Words of an address or a name; with an @ within, the beginning of an address. */
  text?: string;
  locale?: string;
  attribute?: { path: readonly string[]; text: string };
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

/** The contact behind which the next page begins. */
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
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export async function searchContacts(
  pool: Pool,
  scope: ContactScope,
  query: ContactQuery,
  page: { after: ContactPosition | undefined; limit: number },
): Promise<ContactPage> {
  const filter = filterOf(query);
  const scanMax = Object.keys(filter).length === 0 ? page.limit + 1 : SCAN_STEP;
  const found: ContactPosition[] = [];
  let after = page.after;
  for (let scanned = 0; scanned < SCANNED_MAX; scanned += scanMax) {
    const step = await walkContacts(pool, scope, filter, boundsOf(query, after), scanMax);
    for (const contact of step) {
      if (!contact.matched) continue;
      if (found.length === page.limit) return answer(found.at(-1));
      found.push(contact);
    }
    if (step.length < scanMax) return answer(undefined);
    after = step.at(-1);
  }
  return answer(after);

  async function answer(last: ContactPosition | undefined): Promise<ContactPage> {
    const ids = found.map(({ id }) => id);
    const next = last ? { id: last.id, emailKey: last.emailKey } : null;
    return { contacts: await findContactsById(pool, scope, ids), next };
  }
}

function boundsOf(query: ContactQuery, after: ContactPosition | undefined): WalkBounds {
  const sinceId = uuidFloor(query.createdAfterMs ?? 0);
  const untilId =
    query.createdBeforeMs === undefined ? LAST_UUID : uuidFloor(query.createdBeforeMs);
  const prefix = prefixOf(query);
  if (prefix !== undefined) {
    return { sinceId, beforeId: untilId, prefix, afterKey: after?.emailKey ?? '' };
  }
  return { sinceId, beforeId: after && after.id < untilId ? after.id : untilId };
}

/** Whether contacts come in order of addresses, instead of newest first. */
export function isByAddress(query: ContactQuery): boolean {
  return prefixOf(query) !== undefined;
}

/** No address begins with an @: who writes one there looks for a domain. */
function prefixOf({ text = '' }: ContactQuery): string | undefined {
  const address = text.trim().toLowerCase();
  return address.indexOf('@') > 0 ? address : undefined;
}

function filterOf(query: ContactQuery): ContactFilter {
  const words = prefixOf(query) === undefined ? searchWords(query.text) : null;
  return {
    ...(words === null ? {} : { words }),
    ...(query.locale === undefined ? {} : { locale: query.locale.toLowerCase() }),
    ...(query.attribute === undefined ? {} : { attribute: query.attribute }),
  };
}
