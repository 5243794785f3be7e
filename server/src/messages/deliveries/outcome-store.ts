import type { Mode } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { recordset } from '../../db/statements/recordset.ts';
import { INSERT_EVENTS } from '../../events/events-store.ts';
import { suppressHardBounces } from '../../suppressions/suppression-store.ts';

/**
 * Writes many outcomes in one commit: the delivery's state, the attempt, its events, a suppression
 * after a hard bounce, the arrival in the test inbox, the signature that a retry needs. Everything
 * depends on the update of the delivery, which happens only while the row carries our lease: an
 * outcome that comes too late leaves no trace.
 */
export async function recordOutcomes(
  pool: Pool,
  outcomes: readonly OutcomeRow[],
): Promise<boolean[]> {
  const parts = {
    complaints: outcomes.some(({ complaint }) => complaint !== null),
    suppressions: outcomes.some(({ suppression }) => suppression !== null),
    inbox: outcomes.some(({ m, status }) => m === 'test' && status === 'delivered'),
    signatures: outcomes.some(({ signature }) => signature !== null),
  };
  const { rows } = await pool.query<{ n: number }>({
    name: `delivery-record-${+parts.complaints}${+parts.suppressions}${+parts.inbox}${+parts.signatures}`,
    text: statement(parts),
    values: OUTCOMES.parameters(outcomes),
  });
  return flagsFor(outcomes.length, rows);
}

export type OutcomeKey = Pick<OutcomeRow, 'n' | 'w' | 'm' | 'id' | 'event'>;

/** Which outcomes are stored, identified by their events: the response to a commit may be lost. */
export async function findRecorded(
  pool: Pool,
  outcomes: readonly OutcomeKey[],
): Promise<boolean[]> {
  const { rows } = await pool.query<{ n: number }>(
    `select r.n from json_to_recordset($1::json) as r(n int, w uuid, m mode, id uuid, event uuid)
       join events e on e.workspace_id = r.w and e.mode = r.m and e.message_id = r.id
                    and e.id = r.event`,
    [JSON.stringify(outcomes)],
  );
  return flagsFor(outcomes.length, rows);
}

function flagsFor(count: number, rows: readonly { n: number }[]): boolean[] {
  const marks = new Array<boolean>(count).fill(false);
  for (const { n } of rows) marks[n] = true;
  return marks;
}

/** One outcome, with the JSON texts and IDs that are written with it. */
export interface OutcomeRow {
  /** Index in the group. */
  n: number;
  w: string;
  m: Mode;
  id: string;
  o: number;
  lease: number;
  status: string;
  at: number;
  due: number | null;
  reason: string | null;
  bounce: string | null;
  smtp: string | null;
  /** Null when no attempt was made. */
  started: number | null;
  finished: number | null;
  outcome: string | null;
  transcript: string | null;
  node: string;
  /** The warm-up of the address that sent it: see attempts.warm_up_sender. */
  warm_up_sender: string | null;
  warm_up_provider: string | null;
  event: string;
  data: string;
  /** The ID of the complaint's event; null when there is no complaint. */
  complaint: string | null;
  /** The columns of `hard` below. */
  suppression: string | null;
  signature: string | null;
}

const OUTCOMES = recordset<OutcomeRow>({
  n: 'integer',
  w: 'uuid',
  m: 'mode',
  id: 'uuid',
  o: 'smallint',
  lease: 'bigint',
  status: 'delivery_status',
  at: 'timestamptz',
  due: 'timestamptz',
  reason: 'text',
  bounce: 'json',
  smtp: 'json',
  started: 'timestamptz',
  finished: 'timestamptz',
  outcome: 'text',
  transcript: 'text',
  node: 'text',
  warm_up_sender: 'text',
  warm_up_provider: 'text',
  event: 'uuid',
  data: 'json',
  complaint: 'uuid',
  suppression: 'json',
  signature: 'text',
});

interface OptionalWrites {
  complaints: boolean;
  suppressions: boolean;
  inbox: boolean;
  signatures: boolean;
}

/**
 * A single statement, because each further one is a round trip inside the transaction. Rare parts
 * are left out when no outcome needs them. `moved` returns everything that later parts need, so
 * that nothing is joined twice.
 */
function statement(parts: OptionalWrites): string {
  return `
with moved as (
    update deliveries d
       set status = r.status, due_at = r.due, lease = null,
           attempts = d.attempts + (r.started is not null)::int,
           event_sequence = d.event_sequence + 1 + (r.complaint is not null)::int,${parts.complaints ? COMPLAINED_AT : ''}
           reason = case when r.started is not null or r.reason is not null then r.reason
                         else d.reason end,
           bounce = case when r.started is not null or r.bounce is not null then r.bounce
                         else d.bounce end,
           smtp = case when r.started is not null then r.smtp else d.smtp end,
           finished_at = case when r.status <> 'deferred' then r.at end
      from ${OUTCOMES.table('r', 1)}
     where d.workspace_id = r.w and d.mode = r.m and d.message_id = r.id and d.ordinal = r.o
       and d.lease = r.lease
 returning r.*, d.attempts as number, d.event_sequence),
recorded_attempts as (
    insert into attempts (workspace_id, mode, message_id, ordinal, number, started_at, finished_at,
                          outcome, bounce, smtp, transcript, node, warm_up_sender, warm_up_provider)
    select w, m, id, o, number, started, finished, outcome, bounce, smtp, transcript, node,
           warm_up_sender, warm_up_provider
      from moved where started is not null),
delivery_events as (
    ${INSERT_EVENTS}
    select w, m, event_log_tx(), event, 'message.' || status, at, id,
           event_sequence - (complaint is not null)::int, data
      from moved)
${parts.complaints ? COMPLAINTS : ''}${parts.suppressions ? SUPPRESSIONS : ''}${parts.inbox ? INBOX : ''}${parts.signatures ? SIGNATURES : ''}
select n from moved`;
}

const COMPLAINED_AT = `
           complained_at = case when r.complaint is null then d.complained_at else r.at end,`;

/** A second event at the same time, right after the delivery that it complains about. */
const COMPLAINTS = `,
complained as (
    ${INSERT_EVENTS}
    select w, m, event_log_tx(), complaint, 'message.complained', at, id, event_sequence,
           data
      from moved where complaint is not null)`;

/** An event is written only when the address was not suppressed before. */
const SUPPRESSIONS = `,
hard as (
    select distinct on (moved.w, moved.m, s.key) moved.w, moved.m, moved.at, s.*
      from moved cross join lateral json_to_record(moved.suppression)
           as s(id uuid, key text, email text, evidence json, event_id uuid, data json)
     where moved.suppression is not null
     order by moved.w, moved.m, s.key, s.id),
suppressed as (
    ${suppressHardBounces('hard')}),
suppression_events as (
    ${INSERT_EVENTS}
    select w, m, event_log_tx(), event_id, 'suppression.created', at, null, null, data
      from hard where id in (select id from suppressed))`;

const INBOX = `,
arrived as (
    insert into test_inbox (workspace_id, message_id, arrived_at)
    select w, id, min(at) from moved where m = 'test' and status = 'delivered' group by w, id
        on conflict do nothing)`;

const SIGNATURES = `,
kept_signatures as (
    update message_contents c set signature = moved.signature from moved
     where moved.signature is not null and c.workspace_id = moved.w and c.mode = moved.m
       and c.id = moved.id and c.signature is null)`;
