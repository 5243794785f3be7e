-- Counts are appended first, one row for each workspace, mode and minute of a batch of events, and added
-- to the counters of hours and days later, many at a time: see docs/decisions/0084. Readers use
-- the views below, which include what has not been added yet.

create table statistics_recent (
  workspace_id uuid not null,
  mode mode not null,
  -- The start of the minute.
  at timestamptz not null,
  -- Counters that are read for many workspaces at once, as columns: null if zero.
  messages integer,
  accepted integer,
  content_bytes bigint,
  delivered integer,
  bounced integer,
  bounced_later integer,
  complained integer,
  failed integer,
  expired integer,
  -- All counters of each dimension: {value: {counter: n}}. The only value of `totals` is empty.
  totals json not null,
  streams json,
  tags json,
  templates json,
  domains json,
  receivers json
);

create index statistics_recent_scope on statistics_recent (workspace_id, mode);
create index statistics_recent_age on statistics_recent (at);

-- Where rows of statistics_recent go when they are added to hours and days: all minutes of an hour in one
-- row, as {minute: {value: {counter: n}}}. They replace the rows of statistics_minute, which only the
-- previous release writes.
create table statistics_minutes (
  workspace_id uuid not null,
  mode mode not null,
  hour timestamptz not null,
  -- An hour has several rows, because its counts are not all added at the same time.
  id uuid not null default gen_random_uuid(),
  totals json not null,
  streams json,
  tags json,
  templates json,
  domains json,
  receivers json,
  primary key (workspace_id, mode, hour, id)
);

-- Only the cleanup job reads by time alone.
create index statistics_minutes_age on statistics_minutes using brin (hour);

create view statistics_recent_counts as
select r.workspace_id, r.mode, d.dimension, r.at, v.key as value, c.key as counter, c.value::bigint as n
  from statistics_recent r
 cross join lateral (values ('all', r.totals), ('stream', r.streams), ('tag', r.tags),
       ('template', r.templates), ('domain', r.domains), ('receiver', r.receivers)) d (dimension, counts)
 cross join lateral json_each(d.counts) v
 cross join lateral json_each_text(v.value) c;

-- All counts by minute, hour and day. A counter may have several rows. A condition on the hour of a minute
-- keeps its readers from unpacking other hours.
create view statistics_by_minute as
select workspace_id, mode, dimension, date_trunc('hour', at, 'UTC') as hour, at, value, counter, n
  from statistics_minute
 union all
select r.workspace_id, r.mode, d.dimension, r.hour, r.hour + m.key::integer * interval '1 minute', v.key,
       c.key, c.value::bigint
  from statistics_minutes r
 cross join lateral (values ('all', r.totals), ('stream', r.streams), ('tag', r.tags),
       ('template', r.templates), ('domain', r.domains), ('receiver', r.receivers)) d (dimension, counts)
 cross join lateral json_each(d.counts) m
 cross join lateral json_each(m.value) v
 cross join lateral json_each_text(v.value) c
 union all
select workspace_id, mode, dimension, date_trunc('hour', at, 'UTC'), at, value, counter, n
  from statistics_recent_counts;

create view statistics_by_hour as
select workspace_id, mode, dimension, at, value, counter, n from statistics_hour
 union all
select workspace_id, mode, dimension, date_trunc('hour', at, 'UTC'), value, counter, n
  from statistics_recent_counts;

create view statistics_by_day as
select workspace_id, mode, dimension, at, value, counter, n from statistics_day
 union all
select workspace_id, mode, dimension, date_trunc('day', at, 'UTC'), value, counter, n
  from statistics_recent_counts;

-- The counters that are columns of statistics_recent, without dimensions: for readers of a few of them.
create view statistics_recent_totals as
select r.workspace_id, r.mode, r.at, c.counter, c.n
  from statistics_recent r
 cross join lateral (values ('messages', r.messages), ('accepted', r.accepted),
       ('content_bytes', r.content_bytes), ('delivered', r.delivered), ('bounced', r.bounced),
       ('bounced_later', r.bounced_later), ('complained', r.complained), ('failed', r.failed),
       ('expired', r.expired)) c (counter, n)
 where c.n is not null;

create view statistics_totals_by_hour as
select workspace_id, mode, at, counter, n from statistics_hour where dimension = 'all'
 union all
select workspace_id, mode, date_trunc('hour', at, 'UTC'), counter, n from statistics_recent_totals;

create view statistics_totals_by_day as
select workspace_id, mode, at, counter, n from statistics_day where dimension = 'all'
 union all
select workspace_id, mode, date_trunc('day', at, 'UTC'), counter, n from statistics_recent_totals;

-- The same as columns, for readers of all workspaces, which would spend most of their time on making rows
-- of columns. A column is the counter or null, an hour has several rows, and those that have not been added
-- yet have their minute as the time: rounding it would take longer than everything else.
create view statistics_outcomes as
select workspace_id, mode, at,
       case counter when 'messages' then n end as messages,
       case counter when 'delivered' then n end as delivered,
       case counter when 'bounced' then n end as bounced,
       case counter when 'bounced_later' then n end as bounced_later,
       case counter when 'complained' then n end as complained,
       case counter when 'failed' then n end as failed,
       case counter when 'expired' then n end as expired
  from statistics_hour
 where dimension = 'all' and counter in
       ('messages', 'delivered', 'bounced', 'bounced_later', 'complained', 'failed', 'expired')
 union all
select workspace_id, mode, at, messages, delivered, bounced, bounced_later, complained, failed, expired
  from statistics_recent;
