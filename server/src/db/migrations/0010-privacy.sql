-- Addresses that are being erased. A row exists until no trace of the address is left, so that an
-- erasure interrupted by a crash is resumed.

create table erasures (
  workspace_id uuid not null,
  mode mode not null,
  email_key text collate "C" not null,
  requested_at timestamptz not null,
  -- How many rows of each kind have been erased so far.
  contacts integer not null default 0,
  messages integer not null default 0,
  attempts integer not null default 0,
  events integer not null default 0,
  -- The last event without a message that was scanned; null before the first.
  events_cursor uuid,
  -- The last failed request in the request log that was scanned; null before the first.
  requests_cursor uuid,
  primary key (workspace_id, mode, email_key)
);

create index erasures_age on erasures (requested_at);

-- Deleted workspaces: one row from the start of the purge, kept as a record of the deletion. It contains
-- no personal data.
create table workspace_purges (
  -- The id of the workspace, which does not exist any more when the purge has finished.
  id uuid primary key,
  requested_at timestamptz not null,
  started_at timestamptz not null,
  -- When the next pass over all tables starts.
  pass_due_at timestamptz not null,
  -- How many rows of each table were deleted so far.
  deleted_rows jsonb not null default '{}',
  finished_at timestamptz
);

create index workspace_purges_due on workspace_purges (pass_due_at) where finished_at is null;
