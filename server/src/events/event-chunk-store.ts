import type { Pool } from '../db/connections/pool.ts';
import { type EventConsumer, moveConsumer } from './event-consumer-store.ts';
import { type EventPosition, HORIZON } from './events-store.ts';

/**
 * Divides the work of consumers that have fallen behind. One that keeps up reads the next batch, processes
 * it and moves the position in the same commit; of several that do this at the same time, one succeeds.
 * One that finds a full batch takes it as a chunk instead: a short commit moves the position past it, so
 * that others take the next chunk meanwhile. The commit with the effects of a chunk deletes its row,
 * under the number of the attempt, so the effects are written once, however many processes try. A chunk
 * that is not finished in time is taken over.
 */

/** A part of the event log: after one position, up to another. */
export interface EventRange {
  from: EventPosition;
  to: EventPosition;
  events: number;
}

export interface EventChunk extends EventRange {
  attempt: number;
  /** There may be more events after it. */
  more: boolean;
}

export interface NextBatch extends EventRange {
  more: boolean;
  /** A chunk that was not finished in time can be taken over. */
  isChunkDue: boolean;
}

export interface BatchLimits {
  eventsMax: number;
  /** Bytes as stored, mostly compressed, of which one event may have more. */
  bytesMax: number;
}

/**
 * When a chunk can be taken over. Doubled with each takeover, so that slow statements do not compete with
 * themselves.
 */
const CHUNK_SECONDS = 5;
const DOUBLINGS_MAX = 5;

/**
 * From the position `place` on: the events of a batch in `next`, and its last one in `last`. A batch with
 * too many bytes is shortened by the average of its events, which is cheaper than their running sum
 * (0.5 instead of 1.7 µs for each event) and precise enough.
 */
const NEXT = `
next as materialized (
    select e.* from place p cross join lateral (
        select tx, id, pg_column_size(data) as bytes from events
         where (tx, id) > (p.tx, p.id) and tx < ${HORIZON}
         order by tx, id limit $2) e),
size as materialized (
    select count(*) as found, count(*) / greatest(1, ceil(sum(bytes) / $3::float8)) as fitting from next),
last as materialized (
    select e.tx, e.id, taken.n, taken.n < size.found or taken.n = $2 as more
      from size cross join lateral (select greatest(1, floor(size.fitting)) as n) taken
     cross join lateral (select tx, id from next order by tx, id offset taken.n - 1 limit 1) e)`;

const RANGE =
  'p.tx as from_tx, p.id as from_id, l.tx as to_tx, l.id as to_id, coalesce(l.n, 0) as events';

interface RangeRow {
  from_tx: number;
  from_id: string;
  to_tx: number;
  to_id: string;
  events: number;
}

/** Everything that an idle consumer has to know, in one statement. */
export async function readNextBatch(
  pool: Pool,
  consumer: EventConsumer,
  { eventsMax, bytesMax }: BatchLimits,
): Promise<NextBatch> {
  const { rows } = await pool.query<RangeRow & { more: boolean; due: boolean }>({
    name: 'event-consumer-next-batch',
    text: `with place as (select tx, id from event_consumers where name = $1), ${NEXT}
      select ${RANGE}, coalesce(l.more, false) as more,
             ${isChunkDue('$1')} as due
        from place p left join last l on true`,
    values: [consumer, eventsMax, bytesMax],
  });
  const [row] = rows as [(typeof rows)[number]];
  return { ...rangeOf(row), more: row.more, isChunkDue: row.due };
}

/** Undefined if nothing is left. One that may be held before it is finished needs more time than usual. */
export async function takeChunk(
  pool: Pool,
  consumer: EventConsumer,
  { eventsMax, bytesMax }: BatchLimits,
  seconds = CHUNK_SECONDS,
): Promise<EventChunk | undefined> {
  const { rows } = await pool.query<RangeRow & { more: boolean }>({
    name: `event-consumer-take-chunk-${consumer}`,
    text: `with place as (select tx, id from event_consumers where name = $1 for update), ${NEXT},
      moved as (${moveConsumer(consumer, { tx: 'l.tx', id: 'l.id', from: 'last l' })}),
      taken as (
        insert into event_chunks (consumer, after_tx, after_id, last_tx, last_id, events, due_at)
        select $1, p.tx, p.id, l.tx, l.id, l.n, now() + interval '1 second' * $4
          from place p cross join last l)
      select ${RANGE}, l.more from place p cross join last l`,
    values: [consumer, eventsMax, bytesMax, seconds],
  });
  const [row] = rows;
  return row && { ...rangeOf(row), attempt: 1, more: row.more };
}

/** Takes a chunk that its process has not finished in time; undefined if there is none. */
export async function takeOverChunk(
  pool: Pool,
  consumer: EventConsumer,
): Promise<EventChunk | undefined> {
  const { rows } = await pool.query<RangeRow & { attempt: number }>({
    name: 'event-consumer-take-over-chunk',
    text: `with due as (
        select consumer, after_tx, after_id from event_chunks where consumer = $1 and due_at <= now()
         order by after_tx, after_id limit 1 for update skip locked)
      update event_chunks c set attempt = c.attempt + 1,
             due_at = now() + interval '${CHUNK_SECONDS} seconds' * 2 ^ least(c.attempt, ${DOUBLINGS_MAX})
        from due where (c.consumer, c.after_tx, c.after_id) = (due.consumer, due.after_tx, due.after_id)
      returning c.after_tx as from_tx, c.after_id as from_id, c.last_tx as to_tx, c.last_id as to_id,
             c.events, c.attempt`,
    values: [consumer],
  });
  const [row] = rows;
  return row && { ...rangeOf(row), attempt: row.attempt, more: true };
}

/**
 * Part of the statement that processes a chunk. Returns no row if another process has taken it over.
 * The parameters, from `$first` on, are `chunkParameters`.
 */
export function finishChunk(consumer: EventConsumer, first: number): string {
  return `delete from event_chunks where consumer = '${consumer}' and after_tx = $${first}::bigint
    and after_id = $${first + 1}::uuid and attempt = $${first + 2}::smallint
    returning after_tx, after_id, last_tx, last_id, events`;
}

/**
 * The same for several chunks: all of them are finished, or none if another process has taken one of them
 * over. The parameters, from `$first` on, are `chunksParameters`.
 */
export function finishChunks(consumer: EventConsumer, first: number): string {
  return `with ours as materialized (
      select after_tx, after_id from event_chunks
       where consumer = '${consumer}' and (after_tx, after_id, attempt) in (
         select * from unnest($${first}::bigint[], $${first + 1}::uuid[], $${first + 2}::smallint[]))
         for update)
    delete from event_chunks where consumer = '${consumer}'
       and (after_tx, after_id) in (select after_tx, after_id from ours)
       and (select count(*) from ours) = cardinality($${first}::bigint[])
    returning 1`;
}

/** Part of a statement that skips events. */
export function dropChunks(consumer: EventConsumer, { when }: { when: string }): string {
  return `delete from event_chunks where consumer = '${consumer}' and ${when}`;
}

/** An expression: a chunk was not finished in time. */
export function isChunkDue(consumer: string): string {
  return `exists (select from event_chunks where consumer = ${consumer} and due_at <= now())`;
}

export function chunkParameters({ from, attempt }: EventChunk): unknown[] {
  return [from.tx, from.id, attempt];
}

export function chunksParameters(chunks: readonly EventChunk[]): unknown[] {
  return [
    chunks.map(({ from }) => from.tx),
    chunks.map(({ from }) => from.id),
    chunks.map(({ attempt }) => attempt),
  ];
}

function rangeOf({ from_tx, from_id, to_tx, to_id, events }: RangeRow): EventRange {
  return { from: { tx: from_tx, id: from_id }, to: { tx: to_tx, id: to_id }, events };
}
