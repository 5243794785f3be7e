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
  primary key (workspace_id, mode, email_key)
);

create index erasures_age on erasures (requested_at);
