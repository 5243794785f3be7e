import { type Static, type TSchema, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { toStreamKey } from '../../webhooks/formats/postmark-stream-id.ts';

/** Parameters that the lists of Postmark share, as the query of our own lists. */

/** The maximum of our own lists. */
const ITEMS_MAX = 100;

const Time = Type.Optional(
  Type.String({ description: 'A date or a time, in UTC unless it has an offset.' }),
);

/** Names are not case-sensitive at Postmark; its client library writes some with capitals. */
export const DATES = { fromdate: Time, fromDate: Time, todate: Time, toDate: Time };

export const PERIOD = {
  count: Type.Integer({ minimum: 1, maximum: 500, description: 'At most 100 are returned.' }),
  offset: Type.Integer({ minimum: 0, description: 'Must be 0.' }),
  ...DATES,
};

const Stream = Type.Optional(Type.String());

const MESSAGES = {
  tag: Type.Optional(Type.String()),
  messagestream: Stream,
  messageStream: Stream,
};

const FILTER = { ...PERIOD, ...MESSAGES };

const ListFilter = closed(FILTER);

export const StatsQuery = closed({ ...DATES, ...MESSAGES });

export type ListQuery = Static<typeof ListFilter>;

export function listQuery<T extends Record<string, TSchema>>(more: T) {
  return closed({ ...FILTER, ...more });
}

export function toListQuery(given: ListQuery): Record<string, string> {
  const { tag } = given;
  const { after, before } = periodOf(given);
  const stream = streamOf(given);
  return {
    ...pageOf(given),
    ...(stream === undefined ? {} : { stream }),
    ...(tag === undefined ? {} : { tag }),
    ...(after === undefined ? {} : { created_after: after }),
    ...(before === undefined ? {} : { created_before: before }),
  };
}

export function streamOf(given: Pick<ListQuery, keyof typeof MESSAGES>): string | undefined {
  const id = given.messagestream ?? given.messageStream;
  return id === undefined ? undefined : toStreamKey(id);
}

export function pageOf({ count, offset }: Pick<ListQuery, 'count' | 'offset'>): { limit: string } {
  if (offset > 0) {
    const detail = '`offset` is not supported. Narrow the list with a filter instead.';
    throw invalidFields([{ parameter: 'offset', code: 'unsupported', detail }]);
  }
  return { limit: String(Math.min(count, ITEMS_MAX)) };
}

export function periodOf(given: Pick<ListQuery, keyof typeof DATES>): {
  after?: string;
  before?: string;
} {
  const after = given.fromdate ?? given.fromDate;
  const before = given.todate ?? given.toDate;
  return {
    ...(after === undefined ? {} : { after: toTime(after, 'fromdate') }),
    ...(before === undefined ? {} : { before: toTime(before, 'todate') }),
  };
}

function toTime(text: string, parameter: string): string {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  const detail = 'Not a date. Write `2026-11-15` or `2026-11-15T09:30:00Z`.';
  throw invalidFields([{ parameter, code: 'invalid_format', detail }]);
}
