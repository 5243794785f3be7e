import { badCursor, decodeCursor } from './cursor.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A cursor of a list that has two orders: the last row's uuid for the one, its key for the other. */
export function decodeKeyedCursor(
  cursor: string | undefined,
): { id: string; key: string } | undefined {
  if (cursor === undefined) return undefined;
  const [id, key] = decodeCursor(cursor, 2);
  const good =
    typeof id === 'string' &&
    UUID.test(id) &&
    typeof key === 'string' &&
    !key.includes('\0') &&
    key.isWellFormed();
  if (!good) throw badCursor();
  return { id, key };
}
