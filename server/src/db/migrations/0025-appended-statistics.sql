-- Appended counts in one JSON column instead of six: inserting and deleting a row takes two thirds of the
-- time. See docs/decisions/0091. statistics_recent is only written by nodes of the previous release, and
-- still read.

create table statistics_appended (
  workspace_id uuid not null,
  mode mode not null,
  -- The start of the minute.
  at timestamptz not null,
  -- Counters that are read for all workspaces at once, as columns: null if zero.
  messages integer,
  delivered integer,
  bounced integer,
  bounced_later integer,
  complained integer,
  failed integer,
  expired integer,
  -- All counters: {dimension: {value: {counter: n}}}. The only value of the dimension `all` is empty.
  counts json not null
) with (autovacuum_vacuum_scale_factor = 0.3, autovacuum_analyze_scale_factor = 0.3);

create index statistics_appended_scope on statistics_appended (workspace_id, mode);
create index statistics_appended_age on statistics_appended (at);

-- Like statistics_hour_trouble.
create index statistics_appended_trouble on statistics_appended (at, workspace_id)
  where mode = 'live' and (bounced is not null or complained is not null);

create or replace view statistics_recent_counts as
select r.workspace_id, r.mode, d.dimension, r.at, v.key as value, c.key as counter, c.value::bigint as n
  from statistics_recent r
 cross join lateral (values ('all', r.totals), ('stream', r.streams), ('tag', r.tags),
       ('template', r.templates), ('domain', r.domains), ('receiver', r.receivers)) d (dimension, counts)
 cross join lateral json_each(d.counts) v
 cross join lateral json_each_text(v.value) c
 union all
select r.workspace_id, r.mode, d.key, r.at, v.key, c.key, c.value::bigint
  from statistics_appended r
 cross join lateral json_each(r.counts) d
 cross join lateral json_each(d.value) v
 cross join lateral json_each_text(v.value) c;

create or replace view statistics_recent_totals as
select r.workspace_id, r.mode, r.at, c.counter, c.n
  from statistics_recent r
 cross join lateral (values ('messages', r.messages), ('accepted', r.accepted),
       ('content_bytes', r.content_bytes), ('delivered', r.delivered), ('bounced', r.bounced),
       ('bounced_later', r.bounced_later), ('complained', r.complained), ('failed', r.failed),
       ('expired', r.expired)) c (counter, n)
 where c.n is not null
 union all
select r.workspace_id, r.mode, r.at, c.key, c.value::bigint
  from statistics_appended r
 cross join lateral json_each_text(r.counts -> 'all' -> '') c;

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
  from statistics_recent
 union all
select workspace_id, mode, at, messages, delivered, bounced, bounced_later, complained, failed, expired
  from statistics_appended;
