-- Messages, their content, their deliveries with every attempt, and idempotency keys.
-- Partitioned for retention: see 0005-events.sql.

create table idempotency_keys (
  workspace_id uuid not null,
  mode mode not null,
  key text collate "C" not null,
  request_hash bytea not null,
  -- What the request led to, as its owner wrote it; null while the first request is still running.
  result bytea,
  -- A result that may contain a secret is encrypted with SECRET_KEY.
  result_encrypted boolean not null default false,
  created_at timestamptz not null,
  primary key (workspace_id, mode, key)
);

-- Only the cleanup job reads by time. Rejected: a BRIN index, which costs the accept path nothing. Its
-- ranges never shrink when pages are used again, so after the first day every run read the whole table.
create index idempotency_keys_age on idempotency_keys (created_at);

-- The request. Its status is derived from its deliveries and never stored a second time.
create table messages (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  created_at timestamptz not null,
  scheduled_at timestamptz,
  sender text not null,
  sender_name text,
  subject text not null,
  template_key text,
  template_version integer,
  stream text collate "C" not null,
  tags text[] not null default '{}',
  metadata json not null default '{}',
  ttl_seconds integer,
  api_key_id uuid,
  -- The Message-ID that the caller chose, without angle brackets; null for a generated one.
  header_message_id text collate "C",
  primary key (workspace_id, mode, id)
) partition by range (id);

create index messages_header_message_id on messages (workspace_id, mode, header_message_id)
  where header_message_id is not null;

-- Finds the messages of a SendGrid batch, whose id is in their metadata. Other messages are not in it.
create index messages_sendgrid_batch
  on messages (workspace_id, mode, (metadata ->> 'sendgrid_batch_id'), id)
  where metadata ->> 'sendgrid_batch_id' is not null;

-- Message-IDs that API callers chose. A partitioned table cannot have a unique index over them, so
-- this one decides between two nodes that store the same ID at the same moment. Rows are deleted
-- after a day; older IDs are found in messages.
create table message_id_reservations (
  workspace_id uuid not null,
  mode mode not null,
  header_message_id text collate "C" not null,
  created_at timestamptz not null,
  primary key (workspace_id, mode, header_message_id)
);

-- Finds scheduled messages that use a template, which must not be deleted by accident.
create index messages_scheduled_template on messages (workspace_id, template_key, scheduled_at)
  where scheduled_at is not null and template_key is not null;

-- Everything needed to compose the email. Retained for a shorter time than the message itself.
create table message_contents (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  -- Addresses with names, extra headers and tracking options.
  head json not null,
  html text not null,
  -- Null: generated from the HTML when the email is composed.
  text text,
  -- DKIM-Signature header lines, stored at the first deferral so that retries send the same bytes.
  signature text,
  -- Only for messages with secret variables, whose values are redacted in the subject, head, html
  -- and text: the unredacted content, encrypted with SECRET_KEY for delivery and the test inbox.
  -- Empty after that content was deleted; the message must not be sent again then.
  encrypted_content bytea,
  primary key (workspace_id, mode, id)
) partition by range (id);

create index message_contents_encrypted on message_contents (workspace_id, id)
  where mode = 'live' and octet_length(encrypted_content) > 0;

create table message_attachments (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  ordinal smallint not null,
  filename text not null,
  content_type text not null,
  content_id text,
  content bytea not null,
  primary key (workspace_id, mode, message_id, ordinal)
) partition by range (message_id);

-- Objects in the bucket of the content archive, each with the contents of many messages of one day.
create table content_packs (
  id uuid primary key,
  day timestamptz not null,
  -- The partition of archived_contents; the object is deleted when it no longer exists.
  expires_with text not null,
  bytes bigint not null,
  created_at timestamptz not null,
  -- Null while the object is being written.
  stored_at timestamptz
);

create index content_packs_day on content_packs (day);

-- Where the content of a message is in its pack. An entry cannot be read without the key in its row, so
-- that deleting the row erases the content.
create table archived_contents (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  pack_id uuid not null,
  pack_offset bigint not null,
  length integer not null,
  encryption_key bytea not null,
  -- The message had secret variables: this is the redacted copy, which must not be sent.
  is_redacted boolean not null,
  primary key (workspace_id, mode, id)
) partition by range (id);

-- Messages that were not finished when the retention period of their stream ended, with the time at which
-- to look again. Not a column of their content, which may be in the archive by then.
create table late_contents (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  due_at timestamptz not null,
  primary key (workspace_id, mode, message_id)
);

create index late_contents_due on late_contents (due_at);

create type recipient_kind as enum ('to', 'cc', 'bcc');

create type delivery_status as enum (
  'scheduled', 'queued', 'deferred',
  'delivered', 'bounced', 'expired', 'failed', 'cancelled', 'suppressed'
);

-- One row per recipient. The queue consists of the rows whose status is not final.
--
-- due_at is the only timestamp that the queue is ordered by: for a waiting row the time of the next
-- attempt or of its expiry, whichever is earlier; for a leased row the end of the lease. One index
-- range therefore contains every row that can be claimed, and leased rows are never scanned. `lease`
-- is a fencing token: a result is written only while the row still has the token it was claimed with.
create table deliveries (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  ordinal smallint not null,
  kind recipient_kind not null,
  recipient text not null,
  -- Lowercase, for comparison; suppressions, contacts and filters use the same form.
  recipient_key text collate "C" not null,
  recipient_name text,
  status delivery_status not null,
  reason text,
  -- A small hash of the recipient domain. The queue serves the shards of a workspace in turn, so that
  -- one slow receiver does not hold up the others.
  shard smallint not null,
  due_at timestamptz,
  lease bigint,
  attempts smallint not null default 0,
  -- 1, plus one for each retry requested through the API. Every cycle has its own back-off.
  delivery_cycles smallint not null default 1,
  -- The sequence of the last event of this recipient; message.accepted is the first.
  event_sequence smallint not null default 1,
  expires_at timestamptz not null,
  -- The last SMTP reply: { code, enhanced, text, mx, ip, tls }.
  smtp json,
  bounce json,
  finished_at timestamptz,
  primary key (workspace_id, mode, message_id, ordinal)
) partition by range (message_id);

create index deliveries_due on deliveries (workspace_id, shard, due_at)
  where status in ('scheduled', 'queued', 'deferred');

-- The condition always holds. It keeps the planner from looking up deliveries by their key here: in a
-- partition without statistics, as at the start of every week, it takes this index for as good as the
-- primary key, and reads all of it for each result that is recorded.
create index deliveries_recipient on deliveries (workspace_id, mode, recipient_key, message_id)
  where recipient_key is not null;

-- Enforces the state machine in the database, so that no statement can make an invalid transition.
create function check_delivery_transition() returns trigger language plpgsql as $$
begin
  if not (case old.status
    when 'scheduled' then new.status in ('queued', 'cancelled', 'suppressed', 'failed', 'expired')
    when 'queued' then new.status in
      ('deferred', 'delivered', 'bounced', 'expired', 'failed', 'cancelled', 'suppressed')
    when 'deferred' then new.status in ('queued', 'expired', 'failed', 'cancelled', 'suppressed')
    when 'delivered' then new.status = 'bounced'
    when 'bounced' then new.status = 'queued'
    when 'failed' then new.status = 'queued'
    when 'expired' then new.status = 'queued'
    else false
  end) then
    raise exception 'invalid delivery transition from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'deliveries_transition';
  end if;
  return new;
end $$;

create trigger deliveries_transition before update of status on deliveries
  for each row when (old.status is distinct from new.status)
  execute function check_delivery_transition();

create table attempts (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  ordinal smallint not null,
  number smallint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  -- delivered, deferred, bounced or failed.
  outcome text not null,
  bounce json,
  smtp json,
  -- The SMTP dialog, one line per command or reply, without the message and without credentials.
  transcript text,
  node text,
  primary key (workspace_id, mode, message_id, ordinal, number)
) partition by range (message_id);

-- Receivers that limit how much mail they accept from us: written when a throttle changes, and read
-- at the next start.
create table receiver_throttles (
  -- A provider, the mail servers of a domain, or a relay.
  receiver text collate "C" primary key,
  -- Throttling replies in a row, less the successes since.
  level smallint not null,
  paused_until timestamptz not null
);
