import type { Mode } from '../accounts/mode.ts';
import type { Pool } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';

/**
 * The statement behind every accepted message, and the look-up that some need before it. Many
 * requests share them (base/group-commit.ts), so their cost is per group. The statement looks all
 * recipients up in the suppression list and inserts all rows, which is one commit; a request that
 * the list concerns is left out, to come again with what was found.
 *
 * Rows travel as JSON and are unpacked by json_to_recordset: JSON.stringify and PostgreSQL's JSON
 * parser are both native code, while building twenty array literals in JavaScript costs more than
 * the rest of the request.
 */

export interface RecipientRef {
  workspace_id: string;
  mode: Mode;
  key: string;
  domain_key: string;
  /** Under which an erased address stays suppressed (suppressions/address-hash.ts). */
  hash_key: string;
  /** Place in the group. */
  submission: number;
}

/** Rows of `recipients` r with the suppressions s that concern them; a whole domain's counts too. */
const SUPPRESSED = `json_to_recordset(RECIPIENTS::json) as r(workspace_id uuid, mode mode, key text,
        domain_key text, hash_key text, submission integer)
      join suppressions s on s.workspace_id = r.workspace_id and s.mode = r.mode
        and s.key in (r.key, r.domain_key, r.hash_key) and (s.expires_at is null or s.expires_at > NOW)`;

/** Reasons by `${workspace}/${mode}/${key}`. */
export async function findSuppressed(
  pool: Pool,
  recipients: readonly RecipientRef[],
  nowMs: number,
): Promise<Map<string, string>> {
  const { rows } = await pool.query<RecipientRef & { reason: string }>({
    name: 'find-suppressed',
    text: `select r.workspace_id, r.mode, r.key, s.reason
      from ${SUPPRESSED.replace('RECIPIENTS', '$1').replace('NOW', '$2')}`,
    values: [JSON.stringify(recipients), sqlTime(nowMs)],
  });
  return new Map(
    rows.map((row) => [suppressionKey(row.workspace_id, row.mode, row.key), row.reason]),
  );
}

export function suppressionKey(workspaceId: string, mode: Mode, recipientKey: string): string {
  return `${workspaceId}/${mode}/${recipientKey}`;
}

/** One request's rows; all of them are written or, when its idempotency key is taken, none. */
export interface SubmissionRows {
  key: IdempotencyRow | undefined;
  messages: MessageRow[];
  attachments: AttachmentRow[];
  deliveries: DeliveryRow[];
  events: object[];
}

export interface IdempotencyRow {
  workspace_id: string;
  mode: Mode;
  key: string;
  request_hash: string;
  status: number;
  answer: string;
  created_at: string;
  /** Place in the group. */
  submission: number;
}

export interface MessageRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  created_at: string;
  scheduled_at: string | null;
  sender: string;
  sender_name: string | null;
  subject: string;
  template_key: string | null;
  template_version: number | null;
  tags: string[];
  metadata: Record<string, string>;
  ttl_seconds: number | null;
  api_key_id: string | null;
  head: object;
  html: string;
  text: string | null;
  /** Base64; null when nothing in it is secret. */
  sealed: string | null;
  /** Place in the group. */
  submission: number;
}

export interface AttachmentRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  filename: string;
  content_type: string;
  content_id: string | null;
  content: string;
}

export interface DeliveryRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  kind: string;
  recipient: string;
  recipient_key: string;
  recipient_name: string | null;
  status: string;
  reason: string | null;
  lane: number;
  due_at: string | null;
  lease: number | null;
  told: number;
  expires_at: string;
  finished_at: string | null;
}

/** Keys are kept for 24 hours; an older one is as good as none. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

/**
 * Whoever inserts an idempotency key owns the request. A racing transaction with the same key waits
 * here for the first to commit, then inserts nothing. Keys are inserted in order, so that two groups
 * can never wait for each other.
 */
const INSERT = `
  with concerned as materialized (select distinct r.submission
    from ${SUPPRESSED.replace('RECIPIENTS', '$5').replace('NOW', '$6')}),
  keys as materialized (select * from json_to_recordset($7::json) as k(workspace_id uuid, mode mode,
      key text, request_hash text, status smallint, answer text, created_at timestamptz,
      submission integer)
    where submission not in (select submission from concerned)),
  taken as (insert into idempotency_keys as old (workspace_id, mode, key, request_hash, status,
      answer, created_at)
    select workspace_id, mode, key, decode(request_hash, 'hex'), status,
      convert_to(answer, 'UTF8'), created_at
    from keys order by workspace_id, mode, key
    on conflict (workspace_id, mode, key) do update set request_hash = excluded.request_hash,
      status = excluded.status, answer = excluded.answer, created_at = excluded.created_at
    where old.created_at < $8
    returning workspace_id, mode, key),
  lost as materialized (select submission from keys k where not exists (select from taken t
    where t.workspace_id = k.workspace_id and t.mode = k.mode and t.key = k.key)),
  m as materialized (select * from json_to_recordset($1::json) as m(
      workspace_id uuid, mode mode, id uuid, created_at timestamptz, scheduled_at timestamptz,
      sender text, sender_name text, subject text, template_key text, template_version integer,
      tags text[], metadata json, ttl_seconds integer, api_key_id uuid, head json, html text,
      text text, sealed text, submission integer)),
  fresh as materialized (select * from m where submission not in (select submission from lost)
      and submission not in (select submission from concerned)),
  new_messages as (insert into messages (workspace_id, mode, id, created_at, scheduled_at, sender,
      sender_name, subject, template_key, template_version, tags, metadata, ttl_seconds, api_key_id)
    select workspace_id, mode, id, created_at, scheduled_at, sender, sender_name, subject,
      template_key, template_version, tags, metadata, ttl_seconds, api_key_id from fresh),
  new_contents as (insert into message_contents (workspace_id, mode, id, head, html, text, sealed)
    select workspace_id, mode, id, head, html, text, decode(sealed, 'base64') from fresh),
  new_attachments as (insert into message_attachments
    select a.workspace_id, a.mode, a.message_id, a.ordinal, a.filename, a.content_type,
      a.content_id, decode(a.content, 'base64')
    from json_to_recordset($2::json) as a(workspace_id uuid, mode mode, message_id uuid,
      ordinal smallint, filename text, content_type text, content_id text, content text)
    where a.message_id in (select id from fresh)),
  new_deliveries as (insert into deliveries (workspace_id, mode, message_id, ordinal, kind,
      recipient, recipient_key, recipient_name, status, reason, lane, due_at, lease, told,
      expires_at, finished_at)
    select d.workspace_id, d.mode, d.message_id, d.ordinal, d.kind, d.recipient, d.recipient_key,
      d.recipient_name, d.status, d.reason, d.lane, d.due_at, d.lease, d.told, d.expires_at,
      d.finished_at
    from json_to_recordset($3::json) as d(workspace_id uuid, mode mode, message_id uuid,
      ordinal smallint, kind recipient_kind, recipient text, recipient_key text,
      recipient_name text, status delivery_status, reason text, lane smallint, due_at timestamptz,
      lease bigint, told smallint, expires_at timestamptz, finished_at timestamptz)
    where d.message_id in (select id from fresh)),
  new_events as (insert into events (workspace_id, mode, tx, id, type, created_at, message_id,
      sequence, data)
    select e.workspace_id, e.mode, pg_current_xact_id()::text::bigint, e.id, e.type, e.created_at,
      e.message_id, e.sequence, e.data
    from json_to_recordset($4::json) as e(workspace_id uuid, mode mode, id uuid, type text,
      created_at timestamptz, message_id uuid, sequence smallint, data json)
    where e.message_id in (select id from fresh))
  select distinct submission, 'written' as outcome from fresh
  union all select submission, 'concerned' from concerned`;

/** Taken: its idempotency key is another request's, or the same one's from before. */
export type Outcome = 'written' | 'taken' | 'concerned';

/**
 * What became of each submission; of those that were not written nothing was. `recipients` are those
 * whose suppressions nobody has looked up yet.
 */
export async function insertSubmissions(
  pool: Pool,
  submissions: readonly SubmissionRows[],
  recipients: readonly RecipientRef[],
  nowMs: number,
): Promise<Outcome[]> {
  const { rows } = await pool.query<{ submission: number; outcome: Outcome }>({
    name: 'insert-submissions',
    text: INSERT,
    values: [
      JSON.stringify(submissions.flatMap((one) => one.messages)),
      JSON.stringify(submissions.flatMap((one) => one.attachments)),
      JSON.stringify(submissions.flatMap((one) => one.deliveries)),
      JSON.stringify(submissions.flatMap((one) => one.events)),
      JSON.stringify(recipients),
      sqlTime(nowMs),
      JSON.stringify(submissions.flatMap((one) => one.key ?? [])),
      sqlTime(nowMs - IDEMPOTENCY_MS),
    ],
  });
  const outcomes: Outcome[] = submissions.map(() => 'taken');
  for (const { submission, outcome } of rows) outcomes[submission] = outcome;
  return outcomes;
}
