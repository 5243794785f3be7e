-- What the operator allows workspaces, and what nodes have leased of it.

-- No row, or null in a column: no limit.
create table quotas (
  workspace_id uuid primary key references workspaces,
  messages_per_hour bigint,
  messages_per_day bigint,
  messages_per_month bigint,
  recipients_per_message integer,
  contacts bigint,
  content_bytes bigint,
  requests_per_second integer,
  -- The share of a quota of messages, contacts or content at which a warning is published.
  warn_at_percent smallint not null
);

-- How many live messages nodes may accept in an hour, accepted or not. For hours that the statistics have
-- counted completely, the count replaces it, so what a crashed node had left is lost for that hour only.
create table quota_leases (
  workspace_id uuid not null,
  hour timestamptz not null,
  leased bigint not null,
  primary key (workspace_id, hour)
);

-- Only the cleanup job reads by time alone.
create index quota_leases_age on quota_leases (hour);

-- Events about quotas that were published, each once per period. Contacts and content have no period: theirs
-- begins with the event, and ends when the usage has fallen.
create table quota_notices (
  workspace_id uuid not null,
  -- The name of the quota and what was published, such as messages_per_day/warning.
  notice text collate "C" not null,
  period_start timestamptz not null,
  primary key (workspace_id, notice, period_start)
);

create index quota_notices_age on quota_notices (period_start);

-- The automatic brake: thresholds of a workspace that differ from the settings, and what was done.
create table brakes (
  workspace_id uuid primary key references workspaces,
  -- Shares from 0 to 1; 0 disables a threshold, null takes that of the settings.
  slow_bounce_rate float8,
  pause_bounce_rate float8,
  slow_complaint_rate float8,
  pause_complaint_rate float8,
  -- Null: as many days after the workspace was created as the settings say.
  probation_ends_at timestamptz,
  -- Null while the brake is off.
  state text check (state in ('slowed', 'paused')),
  since timestamptz,
  evidence json,
  -- After a release, what happened before it is not held against the workspace again.
  judged_from timestamptz,
  check ((state is null) = (since is null) and (state is null) = (evidence is null))
);
