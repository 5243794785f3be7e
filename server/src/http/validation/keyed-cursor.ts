import { badCursor, decodeCursor, isUuid } from './cursor.ts';

/** A cursor of a list that has two orders: by the rows' uuids, or by their keys. */
export function keyedCursor(
  list: string,
  { cursor }: { cursor?: unknown },
): { id: string; key: string } | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [id, key] = decodeCursor(list, cursor, 2);
  const good = typeof key === 'string' && !key.includes('\0') && key.isWellFormed();
  if (!isUuid(id) || !good) throw badCursor();
  return { id, key };
}
