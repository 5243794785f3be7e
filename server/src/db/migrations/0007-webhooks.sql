-- Webhook endpoints, and what is sent to them. They follow the ledger of events at their own pace.

-- Followers read the ledger of all workspaces in its one order. New entries go to the right edge of
-- this index: the cheapest place there is.
create index events_ledger on events (tx, id);

-- How far each follower has come. The place is committed together with what the follower made of
-- the events before it, so every event counts exactly once, whoever is killed when.
create table ledger_followers (
  name text primary key,
  tx bigint not null,
  id uuid not null
);

insert into ledger_followers (name, tx, id)
values ('webhooks', 0, '00000000-0000-0000-0000-000000000000');

create table webhooks (
  workspace_id uuid not null references workspaces,
  mode mode not null,
  id uuid not null,
  url text not null,
  -- Types, families such as 'message.*', or '*'.
  events text[] not null,
  description text not null,
  enabled boolean not null,
  -- Names and values of extra headers, sealed with SECRET_KEY: they tend to hold credentials.
  sealed_headers bytea,
  -- Events of later transactions are sent; set anew when the endpoint is switched on.
  since_tx bigint not null,
  -- Counts changes, so that a node knows when what it remembers is out of date.
  revision integer not null default 1,
  -- The first failure since the last success.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, mode, id)
);

-- Two rows while a rotation's grace period runs.
create table webhook_secrets (
  workspace_id uuid not null,
  mode mode not null,
  webhook_id uuid not null,
  id uuid not null,
  sealed_secret bytea not null,
  ends_at timestamptz,
  primary key (workspace_id, mode, webhook_id, id),
  foreign key (workspace_id, mode, webhook_id) references webhooks on delete cascade
);

create type webhook_delivery_status as enum ('pending', 'succeeded', 'failed');

-- One event for one endpoint. The body is not kept here: it is made from the event each time, which
-- gives the same bytes, and nothing has to be erased twice.
--
-- due_at and lease work as in deliveries: due_at is the queue's only clock (the next try, or the end
-- of a lease), and a result is written only while the row carries the lease it was taken with.
create table webhook_deliveries (
  workspace_id uuid not null,
  mode mode not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event_tx bigint not null,
  event_type text collate "C" not null,
  status webhook_delivery_status not null default 'pending',
  due_at timestamptz,
  lease bigint,
  tries smallint not null default 0,
  -- Tries of this run: a replay begins a new one.
  run_tries smallint not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz,
  last_status smallint,
  last_error text,
  primary key (workspace_id, mode, webhook_id, event_id)
) partition by range (event_id);

create index webhook_deliveries_due on webhook_deliveries (workspace_id, mode, webhook_id, due_at)
  where status = 'pending';

create index webhook_deliveries_failed
  on webhook_deliveries (workspace_id, mode, webhook_id, event_id) where status = 'failed';

create table webhook_tries (
  workspace_id uuid not null,
  mode mode not null,
  webhook_id uuid not null,
  event_id uuid not null,
  number smallint not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  url text not null,
  -- As sent, but for the values of the endpoint's own headers.
  headers json not null,
  -- Null when there was no answer.
  status smallint,
  -- The first 4 KiB of the answer.
  answer text,
  -- What went wrong, in plain words.
  error text,
  primary key (workspace_id, mode, webhook_id, event_id, number)
) partition by range (event_id);
