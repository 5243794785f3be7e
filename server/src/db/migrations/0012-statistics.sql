-- Event counts per minute, hour and day, and the alarms that are raised.
--
-- A row holds one counter for one value of one dimension, so a new counter needs no schema change and
-- a batch of events is one grouped write.

insert into event_consumers (name, tx, id)
values ('statistics', 0, '00000000-0000-0000-0000-000000000000');

-- The count changes often and is in no index. Free space on each page lets PostgreSQL update rows in
-- place (HOT updates), without touching the index.
create table statistics_minute (
  workspace_id uuid not null,
  mode mode not null,
  -- all, stream, tag, template, domain (of the sender) or receiver (the mailbox provider).
  dimension text collate "C" not null,
  at timestamptz not null,
  value text collate "C" not null,
  counter text collate "C" not null,
  n bigint not null,
  primary key (workspace_id, mode, dimension, at, value, counter)
) with (fillfactor = 70);

create table statistics_hour (like statistics_minute including all) with (fillfactor = 70);
create table statistics_day (like statistics_minute including all) with (fillfactor = 70);

-- Only the cleanup job reads by time alone.
create index statistics_minute_age on statistics_minute using brin (at);
create index statistics_hour_age on statistics_hour using brin (at);

-- Alarms that are currently raised. A row is deleted when the alarm is cleared.
create table alarms (
  workspace_id uuid not null,
  mode mode not null,
  kind text collate "C" not null,
  -- The domain or endpoint concerned; empty if the alarm concerns the whole workspace.
  subject text collate "C" not null,
  raised_at timestamptz not null,
  primary key (workspace_id, mode, kind, subject)
);
