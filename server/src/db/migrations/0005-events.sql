-- The event log, and the position of each consumer in it.
--
-- Tables that grow with every message are range-partitioned on a UUIDv7, which starts with its
-- creation time: retention drops whole partitions, and indexes stay small. db/partitions.ts creates
-- partitions ahead of time. There is deliberately no default partition, because rows in it would
-- block the creation of the right one.

-- The log is ordered by (tx, id), where `tx` is the writing transaction. A reader that stops below
-- the oldest running transaction never skips an event that commits later than its neighbors.
-- `data` is json instead of jsonb, because a webhook body must have the same bytes on every attempt.
create table events (
  workspace_id uuid not null,
  mode mode not null,
  tx bigint not null,
  id uuid not null,
  type text collate "C" not null,
  created_at timestamptz not null,
  message_id uuid,
  -- The position of this event among those of its recipient (or of the message, if it concerns no
  -- single recipient), starting at 1. Clients that receive events out of order sort by it.
  sequence smallint,
  data json not null,
  primary key (workspace_id, mode, tx, id)
) partition by range (id);

create index events_message on events (workspace_id, mode, message_id, id)
  where message_id is not null;

-- Events that belong to no message. They are few, and the erasure of an address scans them all, except
-- those of the audit log, which contain no addresses.
create index events_without_message on events (workspace_id, mode, id)
  where message_id is null and type <> 'audit.recorded';

-- Consumers read the log of all workspaces in order. New entries go to the right edge of this index,
-- which is the cheapest insert there is.
create index events_log_order on events (tx, id);

-- The last event that each consumer has processed, apart from event_chunks. A consumer commits its
-- position together with its own writes, so every event is processed exactly once, even across crashes.
create table event_consumers (
  name text primary key,
  tx bigint not null,
  id uuid not null
);

-- Parts of the log that consumers process at the same time because they have fallen behind. Their position
-- is after all of them. A part is deleted in the commit that processes it.
create table event_chunks (
  consumer text not null,
  -- The last event before it, and its last event.
  after_tx bigint not null,
  after_id uuid not null,
  last_tx bigint not null,
  last_id uuid not null,
  events integer not null,
  -- Incremented when another process takes it over, so that only the latest one can finish it.
  attempt smallint not null default 1,
  -- From then on it may be taken over.
  due_at timestamptz not null,
  primary key (consumer, after_tx, after_id)
);

-- The number of the current transaction in the log, and the lowest number that may still be running.
-- PostgreSQL's transaction ids restart when a dump is restored elsewhere, and repeat when a standby is
-- promoted that lacks the last ones, so db/event-log-offset.ts replaces both functions with ones that
-- add an offset when that has happened.
create function event_log_tx() returns bigint language sql stable
  return pg_current_xact_id()::text::bigint + 0;

create function event_log_horizon() returns bigint language sql stable
  return pg_snapshot_xmin(pg_current_snapshot())::text::bigint + 0;
