-- The message, its content, its deliveries with their attempts, and the ledger of events.
--
-- All of them are range-partitioned on a UUIDv7, which begins with its time of birth: retention
-- drops whole partitions, and indexes stay small however long the history is. Partitions are made
-- ahead by storage/partitions.ts; there is no default partition on purpose, because rows in it
-- would block the making of the right one.

create type recipient_kind as enum ('to', 'cc', 'bcc');

create type delivery_status as enum (
  'scheduled', 'queued', 'deferred',
  'delivered', 'bounced', 'expired', 'failed', 'cancelled', 'suppressed'
);

-- What the caller sent: written once. Its status is that of its deliveries, never stored twice.
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
  tags text[] not null default '{}',
  metadata json not null default '{}',
  ttl_seconds integer,
  api_key_id uuid,
  primary key (workspace_id, mode, id)
) partition by range (id);

-- What is needed to compose the mail: kept for a shorter time than the record.
create table message_contents (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  -- Addresses with names, extra headers and tracking, as the composer takes them.
  head json not null,
  html text not null,
  -- Null: made from html when composed.
  text text,
  -- DKIM-Signature lines, kept at the first deferral: a retry sends the same signed bytes.
  signature text,
  primary key (workspace_id, mode, id)
) partition by range (id);

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

-- One row per recipient; the queue is the rows that are not final.
--
-- due_at is the queue's only clock: for a waiting row the moment of its next try (or of its expiry,
-- whichever is first), for a leased row the end of the lease. So one index range finds all that may
-- be claimed, and rows in somebody's hands are never scanned. `lease` fences: a result is written
-- only while the row still carries the token it was claimed with.
create table deliveries (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  ordinal smallint not null,
  kind recipient_kind not null,
  recipient text not null,
  -- Lower-case, for comparing: the one form used by suppressions, contacts and filters too.
  recipient_key text collate "C" not null,
  recipient_name text,
  status delivery_status not null,
  reason text,
  -- A small hash of the receiving domain: fair turns between receivers inside a workspace.
  lane smallint not null,
  due_at timestamptz,
  lease bigint,
  attempts smallint not null default 0,
  -- Counts retries asked for by the caller, so that each run has its own back-off.
  runs smallint not null default 1,
  -- Events told of this delivery so far; message.accepted is the first.
  told smallint not null default 1,
  expires_at timestamptz not null,
  -- The last SMTP answer and what we made of it: { code, enhanced, text, mx, ip, tls }.
  smtp json,
  bounce json,
  finished_at timestamptz,
  primary key (workspace_id, mode, message_id, ordinal)
) partition by range (message_id);

create index deliveries_due on deliveries (workspace_id, lane, due_at)
  where status in ('scheduled', 'queued', 'deferred');

create index deliveries_recipient on deliveries (workspace_id, mode, recipient_key, message_id);

-- The state machine, held here so that no statement anywhere can make an impossible move.
create function refuse_impossible_move() returns trigger language plpgsql as $$
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
    raise exception 'a delivery cannot move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'deliveries_possible_moves';
  end if;
  return new;
end $$;

create trigger deliveries_possible_moves before update of status on deliveries
  for each row when (old.status is distinct from new.status)
  execute function refuse_impossible_move();

create table attempts (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  ordinal smallint not null,
  number smallint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  -- delivered | deferred | bounced | failed, with its reason and words: see delivery/verdict.ts.
  outcome text not null,
  bounce json,
  smtp json,
  -- Both sides' lines with their times; never the message, never credentials.
  transcript json,
  node text,
  primary key (workspace_id, mode, message_id, ordinal, number)
) partition by range (message_id);

-- The ledger. `tx` is the writing transaction: a reader that stops below the oldest transaction
-- still running can never skip an event that commits later than its neighbours (see events-store.ts).
-- `data` is json, not jsonb: a webhook's body must be the same bytes each time.
create table events (
  workspace_id uuid not null,
  mode mode not null,
  tx bigint not null,
  id uuid not null,
  type text collate "C" not null,
  created_at timestamptz not null,
  message_id uuid,
  -- The place of this event among those of its recipient (or of the message, when of no one
  -- recipient), from 1: readers that get events out of order sort by it.
  sequence smallint,
  data json not null,
  primary key (workspace_id, mode, tx, id)
) partition by range (id);

create index events_message on events (workspace_id, mode, message_id, id)
  where message_id is not null;

create table suppressions (
  workspace_id uuid not null,
  mode mode not null,
  -- A lower-case address, or '@' and a whole domain.
  key text collate "C" not null,
  id uuid not null,
  email text,
  domain text,
  reason text not null,
  -- { message_id, smtp } of the bounce or complaint that caused it.
  evidence json,
  note text,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (workspace_id, mode, key)
);

create unique index suppressions_id on suppressions (workspace_id, mode, id);

-- The last hop of test mode. One row per message that arrived for at least one recipient.
create table test_inbox (
  workspace_id uuid not null,
  message_id uuid not null,
  arrived_at timestamptz not null,
  -- Set when /test/inbox/wait has handed it out.
  waited_at timestamptz,
  primary key (workspace_id, message_id)
) partition by range (message_id);

create index test_inbox_unseen on test_inbox (workspace_id, message_id) where waited_at is null;
