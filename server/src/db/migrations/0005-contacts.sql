-- Contacts, their imports, and erasures under way.

create table contacts (
  workspace_id uuid not null,
  mode mode not null,
  -- Lower-case address, as deliveries and suppressions have it. Byte order, so that the beginning of
  -- an address is a range of this key.
  email_key text collate "C" not null,
  id uuid not null,
  email text not null,
  first_name text,
  last_name text,
  locale text,
  -- jsonb, not json: an import compares what is there with what comes, whatever the order of names.
  attributes jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, mode, email_key)
);

-- The list, newest first, and look-ups by id. mode comes last on purpose: an index that begins with
-- the same two columns as the primary key looks just as good to a planner without fresh statistics,
-- and a look-up by address would then read all contacts of the workspace.
create unique index contacts_id on contacts (workspace_id, id, mode);

-- One row per upload. `bytes_done` is the cursor: everything before it is in `contacts`, written by
-- the same commits that moved it, so whoever goes on after a crash neither loses nor repeats a line.
create table contact_imports (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  format text not null,
  -- uploading | queued | running | finished | failed
  status text not null,
  -- CSV only: the delimiter and what each column is for.
  columns json,
  bytes_total bigint not null default 0,
  bytes_done bigint not null default 0,
  -- Lines of the file up to the cursor.
  lines integer not null default 0,
  -- The cursor is within a line too long to be read, the rest of which is dropped.
  in_broken_line boolean not null default false,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  -- Batches in a row that broke on our side.
  faults smallint not null default 0,
  created_by text not null,
  created_at timestamptz not null,
  worked_at timestamptz not null,
  finished_at timestamptz,
  primary key (workspace_id, mode, id)
);

-- Whoever has waited longest is next: a large import does not hold up a small one.
create index contact_imports_open on contact_imports (worked_at) where status in ('queued', 'running');
create index contact_imports_uploading on contact_imports (worked_at) where status = 'uploading';
create index contact_imports_age on contact_imports (finished_at) where finished_at is not null;

-- The upload as it came, in pieces of one size; gone as soon as they are worked off.
create table contact_import_chunks (
  workspace_id uuid not null,
  mode mode not null,
  import_id uuid not null,
  ordinal integer not null,
  content bytea not null,
  primary key (workspace_id, mode, import_id, ordinal),
  foreign key (workspace_id, mode, import_id) references contact_imports on delete cascade
);

-- Compressing what is read once and deleted would be a waste.
alter table contact_import_chunks alter column content set storage external;

-- The report: only lines that failed have a row. What the line said is not kept.
create table contact_import_failures (
  workspace_id uuid not null,
  mode mode not null,
  import_id uuid not null,
  line integer not null,
  field text,
  code text not null,
  detail text not null,
  primary key (workspace_id, mode, import_id, line),
  foreign key (workspace_id, mode, import_id) references contact_imports on delete cascade
);

-- Addresses that are being erased. A row lives until nothing of the address is left, so that a crash
-- in the middle only delays it.
create table erasures (
  workspace_id uuid not null,
  mode mode not null,
  email_key text collate "C" not null,
  requested_at timestamptz not null,
  contacts integer not null default 0,
  messages integer not null default 0,
  attempts integer not null default 0,
  events integer not null default 0,
  primary key (workspace_id, mode, email_key)
);

create index erasures_age on erasures (requested_at);

-- Events that belong to no message: few, and an erasure must look through them.
create index events_of_no_message on events (workspace_id, mode, id) where message_id is null;

-- Suppressions that end by themselves.
create index suppressions_expiry on suppressions (expires_at) where expires_at is not null;

-- The list by reason, newest first; and the list, for the same reason as contacts_id above: the
-- look-up of recipients must never take it for the primary key.
create index suppressions_reason on suppressions (workspace_id, reason, mode, id);
drop index suppressions_id;
create unique index suppressions_id on suppressions (workspace_id, id, mode);
