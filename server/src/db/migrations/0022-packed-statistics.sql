-- Hours and days as one row for each workspace and mode, like statistics_recent, instead of one for each
-- counter: adding appended counts up changes two rows instead of about a hundred. See docs/decisions/0086.
-- statistics_hour and statistics_day are only written by nodes of the previous release, and still read.

create table statistics_hours (
  like statistics_recent,
  primary key (workspace_id, mode, at)
) with (fillfactor = 70);

create table statistics_days (
  like statistics_recent,
  primary key (workspace_id, mode, at)
) with (fillfactor = 70);

-- Only the cleanup job reads by time alone.
create index statistics_hours_age on statistics_hours using brin (at);

-- Like statistics_hour_trouble. Most updates leave its columns as they are.
create index statistics_hours_trouble on statistics_hours (at, workspace_id)
  where mode = 'live' and (bounced is not null or complained is not null);

create or replace view statistics_by_hour as
select workspace_id, mode, dimension, at, value, counter, n from statistics_hour
 union all
select r.workspace_id, r.mode, d.dimension, r.at, v.key, c.key, c.value::bigint
  from statistics_hours r
 cross join lateral (values ('all', r.totals), ('stream', r.streams), ('tag', r.tags),
       ('template', r.templates), ('domain', r.domains), ('receiver', r.receivers)) d (dimension, counts)
 cross join lateral json_each(d.counts) v
 cross join lateral json_each_text(v.value) c
 union all
select workspace_id, mode, dimension, date_trunc('hour', at, 'UTC'), value, counter, n
  from statistics_recent_counts;

create or replace view statistics_by_day as
select workspace_id, mode, dimension, at, value, counter, n from statistics_day
 union all
select r.workspace_id, r.mode, d.dimension, r.at, v.key, c.key, c.value::bigint
  from statistics_days r
 cross join lateral (values ('all', r.totals), ('stream', r.streams), ('tag', r.tags),
       ('template', r.templates), ('domain', r.domains), ('receiver', r.receivers)) d (dimension, counts)
 cross join lateral json_each(d.counts) v
 cross join lateral json_each_text(v.value) c
 union all
select workspace_id, mode, dimension, date_trunc('day', at, 'UTC'), value, counter, n
  from statistics_recent_counts;

create or replace view statistics_totals_by_hour as
select workspace_id, mode, at, counter, n from statistics_hour where dimension = 'all'
 union all
select r.workspace_id, r.mode, r.at, c.counter, c.n
  from statistics_hours r
 cross join lateral (values ('messages', r.messages), ('accepted', r.accepted),
       ('content_bytes', r.content_bytes), ('delivered', r.delivered), ('bounced', r.bounced),
       ('bounced_later', r.bounced_later), ('complained', r.complained), ('failed', r.failed),
       ('expired', r.expired)) c (counter, n)
 where c.n is not null
 union all
select workspace_id, mode, date_trunc('hour', at, 'UTC'), counter, n from statistics_recent_totals;

create or replace view statistics_totals_by_day as
select workspace_id, mode, at, counter, n from statistics_day where dimension = 'all'
 union all
select r.workspace_id, r.mode, r.at, c.counter, c.n
  from statistics_days r
 cross join lateral (values ('messages', r.messages), ('accepted', r.accepted),
       ('content_bytes', r.content_bytes), ('delivered', r.delivered), ('bounced', r.bounced),
       ('bounced_later', r.bounced_later), ('complained', r.complained), ('failed', r.failed),
       ('expired', r.expired)) c (counter, n)
 where c.n is not null
 union all
select workspace_id, mode, date_trunc('day', at, 'UTC'), counter, n from statistics_recent_totals;

create or replace view statistics_outcomes as
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
  from statistics_hours
 union all
select workspace_id, mode, at, messages, delivered, bounced, bounced_later, complained, failed, expired
  from statistics_recent;

-- Every row is deleted once, so a twentieth of the table is dead soon, and vacuum reads all of its indexes.
alter table statistics_recent set (autovacuum_vacuum_scale_factor = 0.3, autovacuum_analyze_scale_factor = 0.3);
