import {
  encodeDescendingCursor,
  encodeEventCursor,
  LATEST,
  parseEventCursor,
} from '../../http/routes/events/event-query.ts';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * A position in Mailgun's event list. Mailgun's links contain the whole query, so that a client can
 * follow them without repeating it, and lead in both directions from any page.
 */
export interface EventPage {
  query: EventQuery;
  /** The order in which Mailgun lists the events. */
  ascending: boolean;
  /** Whether the page is read towards the beginning of the list. */
  backwards: boolean;
  /** A cursor of our own list; absent at the beginning, or at the end if read backwards. */
  cursor?: string;
}

export interface EventQuery {
  types: string[];
  limit: number;
  /** Alternatives of tags that must all be present. */
  tags?: string[][];
  recipient?: string;
  messageId?: string;
  after?: string;
  before?: string;
}

export function encodePage(page: EventPage): string {
  return Buffer.from(JSON.stringify(page)).toString('base64url');
}

/** The query in it is checked like any other when it is used. */
export function decodePage(text: string): EventPage {
  try {
    const page = JSON.parse(Buffer.from(text, 'base64url').toString()) as EventPage;
    const { query, ascending, backwards, cursor } = page;
    const isComplete =
      isTextList(query.types) &&
      Number.isInteger(query.limit) &&
      query.limit >= 1 &&
      query.limit <= LIMIT_MAX &&
      (query.tags === undefined || (Array.isArray(query.tags) && query.tags.every(isTextList))) &&
      [query.recipient, query.messageId, query.after, query.before, cursor].every(isOptionalText) &&
      typeof ascending === 'boolean' &&
      typeof backwards === 'boolean';
    if (isComplete) return page;
  } catch {
    // The reason is of no use to the client.
  }
  throw new RefusedError('not_found', 'There is no such page. Start again without it.');
}

export const LIMIT_MAX = 300;

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** The order in which our own list is read. */
export function orderOf({ ascending, backwards }: EventPage): 'asc' | 'desc' {
  return ascending === backwards ? 'desc' : 'asc';
}

/** The pages around one that was read up to `end`. */
export function neighborsOf(
  page: EventPage,
  end: string,
): { next: EventPage; previous: EventPage } {
  const { cursor: _cursor, ...rest } = page;
  const onwards: EventPage = { ...rest, cursor: end };
  const back: EventPage = { ...rest, backwards: !page.backwards, ...backFrom(page) };
  return page.backwards ? { next: back, previous: onwards } : { next: onwards, previous: back };
}

/**
 * Where reading in the other direction starts. Cursors are exclusive: reading back from the event
 * that a page started after must include it, so the position moves by one.
 */
function backFrom(page: EventPage): { cursor?: string } {
  const { cursor } = page;
  const isAscending = orderOf(page) === 'asc';
  if (cursor === LATEST) return {};
  if (cursor === undefined) return { cursor: isAscending ? BEFORE_ALL : LATEST };
  const { tx, id } = parseEventCursor(cursor, isAscending ? 'asc' : 'desc');
  const moved = { tx, id: shifted(id, isAscending ? 1n : -1n) };
  return { cursor: isAscending ? encodeDescendingCursor(moved) : encodeEventCursor(moved) };
}

const BEFORE_ALL = encodeDescendingCursor({ tx: 0, id: '00000000-0000-0000-0000-000000000000' });

function shifted(uuid: string, by: bigint): string {
  const value = BigInt(`0x${uuid.replaceAll('-', '')}`) + by;
  const max = (1n << 128n) - 1n;
  const hex = (value < 0n ? 0n : value > max ? max : value).toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
