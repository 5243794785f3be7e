import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { encodeCursor } from '../../http/validation/cursor.ts';
import { decodeId, type IdPrefix } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';

export const ListQuery = closed({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  after: Type.Optional(Type.String({ description: 'The id of the last item of the page before.' })),
});

interface OwnList {
  /** Names the list in its cursors. */
  list: string;
  prefix: IdPrefix;
  /** The list can also be sorted by a key, which is in its cursors but unused when sorted by id. */
  keyed?: true;
}

/**
 * The query of our own list. Resend pages by the id of the last item, we by a cursor, which for
 * lists that are sorted by id holds nothing else.
 */
export function pageQuery(
  { limit, after }: Static<typeof ListQuery>,
  { list, prefix, keyed }: OwnList,
): Record<string, string> {
  return {
    ...(limit === undefined ? {} : { limit: String(limit) }),
    ...(after === undefined
      ? {}
      : { cursor: encodeCursor(list, [decode(prefix, after), ...(keyed ? [''] : [])]) }),
  };
}

function decode(prefix: IdPrefix, id: string): string {
  const uuid = decodeId(prefix, id);
  if (uuid !== undefined) return uuid;
  const detail = '`after` must be the id of the last item of the page before.';
  throw new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'after', code: 'invalid_cursor', detail }],
  });
}

export function toPage<T>(
  page: { data: T[]; next_cursor: string | null },
  toItem: (item: T) => object,
): object {
  return { object: 'list', has_more: page.next_cursor !== null, data: page.data.map(toItem) };
}

export const Deleted = Type.Object(
  { object: Type.String(), id: Type.String(), deleted: Type.Literal(true) },
  { title: 'ResendDeleted' },
);

export function deleted(object: string, id: string): Static<typeof Deleted> {
  return { object, id, deleted: true };
}
