-- Webhook endpoints and the events delivered to them.

insert into event_consumers (name, tx, id)
values ('webhooks', 0, '00000000-0000-0000-0000-000000000000');

create table webhooks (
  workspace_id uuid not null references workspaces,
  mode mode not null,
  id uuid not null,
  url text not null,
  -- Event types, families such as 'message.*', or '*'.
  events text[] not null,
  -- Keys of streams; empty for all. Events that concern no stream are not filtered.
  streams text[] not null default '{}',
  description text not null,
  -- Payload shape, event names and signature: a name from webhooks/formats/formats.ts.
  format text not null default 'postrider',
  enabled boolean not null,
  -- Names and values of extra headers, encrypted with SECRET_KEY because they often are credentials.
  encrypted_headers bytea,
  -- Only events of later transactions are delivered. Reset when the endpoint is enabled again.
  since_tx bigint not null,
  -- Incremented by every change, so that nodes can tell that their cached copy is out of date.
  revision integer not null default 1,
  -- The first failure since the last success.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, mode, id)
);

-- The keys that requests are signed with. Two rows during the grace period of a rotation.
create table webhook_secrets (
  workspace_id uuid not null,
  mode mode not null,
  webhook_id uuid not null,
  id uuid not null,
  encrypted_secret bytea not null,
  -- What receivers verify with, if the secret is the private half of a key pair.
  public_key text,
  expires_at timestamptz,
  primary key (workspace_id, mode, webhook_id, id),
  foreign key (workspace_id, mode, webhook_id) references webhooks on delete cascade
);

-- Receivers fetch a certificate by the id of its key alone.
create unique index webhook_secrets_certificates on webhook_secrets (id)
  where public_key is not null;

create type webhook_delivery_status as enum ('pending', 'succeeded', 'failed');

-- One event for one endpoint. The body is not stored: it is rebuilt from the event for every attempt,
-- which yields the same bytes, and an erasure only has to change the event.
--
-- due_at and lease work as in deliveries (0006-messages.sql).
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
  attempts smallint not null default 0,
  -- Attempts since the event was first sent or last replayed; the back-off depends on them.
  cycle_attempts smallint not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz,
  last_response_status smallint,
  last_error text,
  -- The first attempt, which is nearly always the only one: a row of its own would cost a fifth of all
  -- that is written for an event. Null before it. The columns are those of webhook_attempts.
  first_started_at timestamptz,
  first_duration_ms integer,
  first_url text,
  first_headers json,
  first_response_status smallint,
  first_response_body text,
  first_error text,
  primary key (workspace_id, mode, webhook_id, event_id)
) partition by range (event_id);

create index webhook_deliveries_due on webhook_deliveries (workspace_id, mode, webhook_id, due_at)
  where status = 'pending';

create index webhook_deliveries_failed
  on webhook_deliveries (workspace_id, mode, webhook_id, event_id) where status = 'failed';

-- Events that wait because no node has capacity for them: for one endpoint, those between two positions
-- of the event log, inclusive, that it subscribes to. A claim turns them into leased deliveries, so an
-- event is written twice (leased, and with its result) however long it waits, and a backlog takes
-- next to no space.
create table webhook_backlogs (
  workspace_id uuid not null,
  mode mode not null,
  webhook_id uuid not null,
  first_tx bigint not null,
  first_id uuid not null,
  last_tx bigint not null,
  last_id uuid not null,
  -- How many they were when they were set aside.
  events integer not null,
  -- When they were set aside; later while the workspace moves to another database.
  due_at timestamptz not null,
  primary key (workspace_id, mode, webhook_id, first_tx, first_id)
);

-- The second attempt of a delivery and those after it.
create table webhook_attempts (
  workspace_id uuid not null,
  mode mode not null,
  webhook_id uuid not null,
  event_id uuid not null,
  number smallint not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  url text not null,
  -- The request headers, without the values of the endpoint's extra headers.
  headers json not null,
  -- Null if there was no response.
  response_status smallint,
  -- The first 4 KiB of the response.
  response_body text,
  error text,
  primary key (workspace_id, mode, webhook_id, event_id, number)
) partition by range (event_id);
