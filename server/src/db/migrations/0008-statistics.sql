-- Counts of what happened, by minute, hour and day, made from the ledger of events. A row is one
-- counter of one value of one dimension: adding a counter needs no change here, and a batch of
-- events is one grouped write. The place in the ledger is committed with it.

insert into ledger_followers (name, tx, id)
values ('statistics', 0, '00000000-0000-0000-0000-000000000000');

-- Few columns change, and often: room on each page keeps the updates off the index.
create table statistics_minute (
  workspace_id uuid not null,
  mode mode not null,
  -- all, tag, template, domain (of the sender) or receiver (the provider).
  dimension text collate "C" not null,
  at timestamptz not null,
  value text collate "C" not null,
  -- See stats/count-events.ts.
  counter text collate "C" not null,
  n bigint not null,
  primary key (workspace_id, mode, dimension, at, value, counter)
) with (fillfactor = 70);

create table statistics_hour (like statistics_minute including all) with (fillfactor = 70);
create table statistics_day (like statistics_minute including all) with (fillfactor = 70);

-- Only the cleaner reads by time alone.
create index statistics_minute_age on statistics_minute using brin (at);
create index statistics_hour_age on statistics_hour using brin (at);

-- Alarms that are raised now. A row stands for one episode: it goes when the episode is over.
create table alarms (
  workspace_id uuid not null,
  mode mode not null,
  kind text collate "C" not null,
  -- The domain or the endpoint it is about; empty when it is about the whole workspace.
  subject text collate "C" not null,
  raised_at timestamptz not null,
  primary key (workspace_id, mode, kind, subject)
);
