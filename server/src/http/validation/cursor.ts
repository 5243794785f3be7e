import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Cursors are opaque to clients: base64url of a small JSON array. Its first element names the
 * list that the cursor was issued for, because a position in one list means nothing in another.
 * Each sort order of a list counts as a list of its own.
 */

type Part = string | number;

export function encodeCursor(list: string, parts: readonly Part[]): string {
  return encodeParts([list, ...parts]);
}

export function encodeParts(parts: readonly Part[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Returns the `length` elements of a cursor, or throws an error that names the parameter. */
export function decodeCursor(list: string, cursor: string, length: number): Part[] {
  const parts = decodeParts(cursor);
  // Cursors of earlier versions do not name their list.
  if (parts.length === length) return parts;
  if (parts.length !== length + 1 || typeof parts[0] !== 'string') throw invalidCursor();
  if (parts[0] !== list) {
    throw invalidCursor(
      'This cursor belongs to another list or sort order. Start again without it.',
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
    // The reason is of no use to the client.
  }
  throw invalidCursor();
}

export function invalidCursor(
  detail = 'The cursor is invalid. Start again without it.',
): RefusedError {
  return new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(part: Part | undefined): part is string {
  return typeof part === 'string' && UUID.test(part);
}

/** Reads a cursor that is the UUID of the last row of the previous page. */
export function uuidCursor(list: string, { cursor }: { cursor?: unknown }): string | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [uuid] = decodeCursor(list, cursor, 1);
  if (!isUuid(uuid)) throw invalidCursor();
  return uuid;
}

/** Reads a cursor of a list that can be sorted by UUID or by key. */
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

/**
 * Returns one page of rows. The caller reads one row more than `limit` to detect a next page.
 */
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
