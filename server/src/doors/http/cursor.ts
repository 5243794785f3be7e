import { RefusedError } from '../../base/refused-error.ts';

/** Cursors are opaque to clients: base64url of a small JSON array that only we read. */

export function encodeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The parts of a cursor with this many strings or numbers, or a refusal that names the parameter. */
export function decodeCursor(cursor: string, length: number): (string | number)[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const good =
      Array.isArray(parts) &&
      parts.length === length &&
      parts.every((part) => typeof part === 'string' || Number.isSafeInteger(part));
    if (good) return parts;
  } catch {
    // Falls through to the refusal: what was wrong inside is of no use to the client.
  }
  throw badCursor();
}

export function badCursor(): RefusedError {
  const detail = 'This is not a cursor that we gave. Start again without it.';
  return new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A cursor that is the uuid of the last row of the page before. */
export function decodeUuidCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const [uuid] = decodeCursor(cursor, 1);
  if (typeof uuid !== 'string' || !UUID.test(uuid)) throw badCursor();
  return uuid;
}

/** A page of rows, of which one more than `limit` was read to know whether there is a next. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => readonly (string | number)[],
): { rows: Row[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page[page.length - 1];
  const more = rows.length > limit && last !== undefined;
  return { rows: page, next_cursor: more ? encodeCursor(cursorOf(last)) : null };
}
