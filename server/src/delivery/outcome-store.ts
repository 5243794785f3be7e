import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { recordset } from '../db/recordset.ts';
import { sqlTime } from '../db/row-types.ts';
import type { DeliveryEventData } from '../events/event-types.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { serializeTranscript } from '../mail/smtp-client/transcript.ts';
import { isSimulatorAddress } from '../messages/simulator-address.ts';
import type { DeliveryOutcome } from './delivery.ts';

/**
 * Writes many outcomes in one commit: the delivery's state, the attempt, its events, a suppression
 * after a hard bounce, the arrival in the test inbox, the signature that a retry needs. Everything
 * depends on the update of the delivery, which happens only while the row carries our lease: an
 * outcome that comes too late leaves no trace.
 */
export async function recordOutcomes(
  pool: Pool,
  outcomes: readonly DeliveryOutcome[],
): Promise<boolean[]> {
  const parts = {
    complaints: outcomes.some(simulatesComplaint),
    suppressions: outcomes.some(addsSuppression),
    inbox: outcomes.some(arrivesInTestInbox),
    signatures: outcomes.some((outcome) => keptSignature(outcome) !== undefined),
  };
  const { rows } = await pool.query<{ n: number }>({
    name: `delivery-record-${+parts.complaints}${+parts.suppressions}${+parts.inbox}${+parts.signatures}`,
    text: statement(parts),
    values: RESULTS.parameters(outcomes.map(rowOf)),
  });
  return flagsFor(outcomes.length, rows);
}

/** Which outcomes are stored, identified by their events: the response to a commit may be lost. */
export async function findRecorded(
  pool: Pool,
  outcomes: readonly DeliveryOutcome[],
): Promise<boolean[]> {
  const keys = outcomes.map(({ delivery, eventId }, n) => ({
    n,
    w: delivery.message.workspaceId,
    m: delivery.message.mode,
    id: delivery.message.id,
    event: eventId,
  }));
  const { rows } = await pool.query<{ n: number }>(
    `select r.n from json_to_recordset($1::json) as r(n int, w uuid, m mode, id uuid, event uuid)
       join events e on e.workspace_id = r.w and e.mode = r.m and e.message_id = r.id
                    and e.id = r.event`,
    [JSON.stringify(keys)],
  );
  return flagsFor(outcomes.length, rows);
}

function flagsFor(count: number, rows: readonly { n: number }[]): boolean[] {
  const marks = new Array<boolean>(count).fill(false);
  for (const { n } of rows) marks[n] = true;
  return marks;
}

interface ResultRow {
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
  event: string;
  data: string;
  complaint: string | null;
  suppression: string | null;
  signature: string | null;
}

const RESULTS = recordset<ResultRow>({
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
with r as materialized (
    select * from ${RESULTS.table('r', 1)}),
moved as (
    update deliveries d
       set status = r.status, due_at = r.due, lease = null,
           attempts = d.attempts + (r.started is not null)::int,
           event_sequence = d.event_sequence + 1 + (r.complaint is not null)::int,
           reason = case when r.started is not null or r.reason is not null then r.reason
                         else d.reason end,
           bounce = case when r.started is not null then r.bounce else d.bounce end,
           smtp = case when r.started is not null then r.smtp else d.smtp end,
           finished_at = case when r.status <> 'deferred' then r.at end
      from r
     where d.workspace_id = r.w and d.mode = r.m and d.message_id = r.id and d.ordinal = r.o
       and d.lease = r.lease
 returning r.*, d.attempts as number, d.event_sequence),
recorded_attempts as (
    insert into attempts (workspace_id, mode, message_id, ordinal, number, started_at, finished_at,
                          outcome, bounce, smtp, transcript, node)
    select w, m, id, o, number, started, finished, outcome, bounce, smtp, transcript, node
      from moved where started is not null),
delivery_events as (
    insert into events (workspace_id, mode, tx, id, type, created_at, message_id, sequence, data)
    select w, m, event_log_tx(), event, 'message.' || status, at, id,
           event_sequence - (complaint is not null)::int, data
      from moved)
${parts.complaints ? COMPLAINTS : ''}${parts.suppressions ? SUPPRESSIONS : ''}${parts.inbox ? INBOX : ''}${parts.signatures ? SIGNATURES : ''}
select n from moved`;
}

/** A second event at the same time, right after the delivery that it complains about. */
const COMPLAINTS = `,
complained as (
    insert into events (workspace_id, mode, tx, id, type, created_at, message_id, sequence, data)
    select w, m, event_log_tx(), complaint, 'message.complained', at, id, event_sequence,
           data
      from moved where complaint is not null)`;

/** An expired suppression has no effect, but its row has not been deleted yet. */
const HAS_EXPIRED = 'suppressions.expires_at <= excluded.created_at';

/**
 * An event is written only when the address was not suppressed before; an entry with an expiry
 * becomes permanent. Rows are locked in key order to avoid deadlocks.
 */
const SUPPRESSIONS = `,
hard as (
    select distinct on (moved.w, moved.m, s.key) moved.w, moved.m, moved.at, s.*
      from moved cross join lateral json_to_record(moved.suppression)
           as s(id uuid, key text, email text, evidence json, event_id uuid, data json)
     where moved.suppression is not null
     order by moved.w, moved.m, s.key, s.id),
suppressed as (
    insert into suppressions (workspace_id, mode, key, id, email, reason, evidence, created_at)
    select w, m, key, id, email, 'hard_bounce', evidence, at from hard
        on conflict (workspace_id, mode, key) do update
       set reason = excluded.reason, evidence = excluded.evidence, expires_at = null,
           id = case when ${HAS_EXPIRED} then excluded.id else suppressions.id end,
           email = case when ${HAS_EXPIRED} then excluded.email else suppressions.email end,
           note = case when ${HAS_EXPIRED} then null else suppressions.note end,
           created_at = case when ${HAS_EXPIRED} then excluded.created_at else suppressions.created_at end
     where suppressions.expires_at is not null
 returning id),
suppression_events as (
    insert into events (workspace_id, mode, tx, id, type, created_at, data)
    select w, m, event_log_tx(), event_id, 'suppression.created', at, data
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

function rowOf(outcome: DeliveryOutcome, n: number): ResultRow {
  const { delivery, attempt } = outcome;
  return {
    n,
    w: delivery.message.workspaceId,
    m: delivery.message.mode,
    id: delivery.message.id,
    o: delivery.ordinal,
    lease: delivery.lease,
    status: outcome.status,
    at: outcome.atMs,
    due: outcome.dueAtMs,
    reason: outcome.reason,
    bounce: outcome.bounce && JSON.stringify(outcome.bounce),
    smtp: outcome.smtp && JSON.stringify(outcome.smtp),
    started: attempt?.startedAtMs ?? null,
    finished: attempt?.finishedAtMs ?? null,
    outcome: outcome.attemptOutcome,
    transcript: attempt?.transcript ? serializeTranscript(attempt.transcript) : null,
    node: outcome.node,
    event: outcome.eventId,
    data: JSON.stringify(eventData(outcome)),
    complaint: simulatesComplaint(outcome) ? uuidv7(outcome.atMs) : null,
    suppression: addsSuppression(outcome) ? JSON.stringify(suppressionOf(outcome)) : null,
    signature: keptSignature(outcome) ?? null,
  };
}

function simulatesComplaint(outcome: DeliveryOutcome): boolean {
  return outcome.attempt?.simulatesComplaint === true;
}

function eventData(outcome: DeliveryOutcome): DeliveryEventData {
  const { delivery, bounce, smtp } = outcome;
  const { message } = delivery;
  return {
    message_id: encodeId('msg', message.id),
    recipient: delivery.recipient,
    attempt: delivery.attempts + (outcome.attempt ? 1 : 0),
    metadata: message.metadata,
    tags: message.tags,
    ...(bounce ? { bounce } : {}),
    ...(smtp ? { smtp } : {}),
    ...(outcome.status === 'deferred' && outcome.dueAtMs !== null
      ? { next_attempt_at: sqlTime(outcome.dueAtMs) }
      : {}),
    ...(outcome.reason !== null && !bounce ? { reason: outcome.reason } : {}),
  };
}

/** Simulator addresses are never suppressed, however often they bounce. */
function addsSuppression(outcome: DeliveryOutcome): boolean {
  return (
    outcome.status === 'bounced' &&
    outcome.bounce?.class === 'hard' &&
    !isSimulatorAddress(outcome.delivery.recipientKey)
  );
}

function suppressionOf(outcome: DeliveryOutcome): object {
  const { delivery } = outcome;
  const id = uuidv7(outcome.atMs);
  const evidence = { message_id: encodeId('msg', delivery.message.id), smtp: outcome.smtp };
  return {
    id,
    key: delivery.recipientKey,
    email: delivery.recipientKey,
    evidence,
    event_id: uuidv7(outcome.atMs),
    data: {
      suppression: {
        id: encodeId('sup', id),
        email: delivery.recipientKey,
        domain: null,
        reason: 'hard_bounce',
        evidence,
        note: null,
        erased: false,
        created_at: sqlTime(outcome.atMs),
        expires_at: null,
      },
    },
  };
}

function arrivesInTestInbox(outcome: DeliveryOutcome): boolean {
  return outcome.delivery.message.mode === 'test' && outcome.status === 'delivered';
}

function keptSignature(outcome: DeliveryOutcome): string | undefined {
  return outcome.status === 'deferred' ? outcome.attempt?.signature : undefined;
}
