import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Cursors are opaque to clients: base64url of a small JSON array that only we read. It begins with the
 * list that it was given for, because a place in one list is none in another. A list that comes in
 * several orders, or of several things, is as many lists.
 */

type Part = string | number;

export function encodeCursor(list: string, parts: readonly Part[]): string {
  return encodeParts([list, ...parts]);
}

export function encodeParts(parts: readonly Part[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The parts of a cursor with this many strings or numbers, or a refusal that names the parameter. */
export function decodeCursor(list: string, cursor: string, length: number): Part[] {
  const parts = decodeParts(cursor);
  // Those of the releases before named no list. They are taken for what they may be.
  if (parts.length === length) return parts;
  if (parts.length !== length + 1 || typeof parts[0] !== 'string') throw invalidCursor();
  if (parts[0] !== list) {
    throw invalidCursor(
      'This cursor is of another list, or of another order. Start again without it.',
    );
  }
  return parts.slice(1);
}

export function decodeParts(cursor: string): Part[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const good =
      Array.isArray(parts) &&
      parts.every((part) => typeof part === 'string' || Number.isSafeInteger(part));
    if (good) return parts;
  } catch {
    // Falls through to the refusal: what was wrong inside is of no use to the client.
  }
  throw invalidCursor();
}

export function invalidCursor(
  detail = 'This is not a cursor that we gave. Start again without it.',
): RefusedError {
  return new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(part: Part | undefined): part is string {
  return typeof part === 'string' && UUID.test(part);
}

/** A cursor that is the uuid of the last row of the page before. */
export function uuidCursor(list: string, { cursor }: { cursor?: unknown }): string | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [uuid] = decodeCursor(list, cursor, 1);
  if (!isUuid(uuid)) throw invalidCursor();
  return uuid;
}

/** A cursor of a list that has two orders: by the rows' uuids, or by their keys. */
export function keyedCursor(
  list: string,
  { cursor }: { cursor?: unknown },
): { id: string; key: string } | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [id, key] = decodeCursor(list, cursor, 2);
  const good = typeof key === 'string' && !key.includes('\0') && key.isWellFormed();
  if (!isUuid(id) || !good) throw invalidCursor();
  return { id, key };
}

/** A page of rows, of which one more than `limit` was read to know whether there is a next. */
export function toPage<Row>(
  list: string,
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => readonly Part[],
): { rows: Row[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page[page.length - 1];
  const more = rows.length > limit && last !== undefined;
  return { rows: page, next_cursor: more ? encodeCursor(list, cursorOf(last)) : null };
}
