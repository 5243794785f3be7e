-- Contacts and their imports.

create table contacts (
  workspace_id uuid not null,
  mode mode not null,
  -- The lowercase address, as in deliveries and suppressions. Byte order makes a prefix of an address
  -- a range of this key.
  email_key text collate "C" not null,
  id uuid not null,
  email text not null,
  first_name text,
  last_name text,
  locale text,
  -- jsonb instead of json, because an import compares attributes regardless of their order.
  attributes jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, mode, email_key)
);

-- For the list, newest first, and for lookups by id. mode is last on purpose: without fresh
-- statistics the planner cannot tell an index that starts with the same two columns as the primary
-- key from that key, and would read every contact of the workspace to find one address.
create unique index contacts_id on contacts (workspace_id, id, mode);

-- What contacts last chose for a stream, when and how. Whether mail is stopped is decided by
-- suppressions alone: see docs/decisions/0063-suppressions-decide-subscriptions.md. A row follows its
-- contact to a new address and is deleted with it.
create table contact_subscriptions (
  workspace_id uuid not null,
  mode mode not null,
  email_key text collate "C" not null,
  stream text collate "C" not null,
  status text not null check (status in ('subscribed', 'unsubscribed')),
  changed_at timestamptz not null,
  source text not null
    check (source in ('api', 'dashboard', 'import', 'page', 'one_click', 'mail')),
  primary key (workspace_id, mode, email_key, stream),
  foreign key (workspace_id, mode, email_key) references contacts
    on delete cascade on update cascade
);

-- One row per upload. `bytes_done` is the cursor: the commits that move it also write the contacts
-- before it, so an import that is resumed after a crash neither loses nor repeats a line.
create table contact_imports (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  format text not null,
  -- uploading, queued, running, finished or failed.
  status text not null,
  -- CSV only: the delimiter and the field of each column.
  columns json,
  bytes_total bigint not null default 0,
  bytes_done bigint not null default 0,
  -- The number of lines before the cursor.
  lines integer not null default 0,
  -- The cursor is inside a line that exceeds the maximum length; the rest of the line is skipped.
  in_skipped_line boolean not null default false,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  -- Consecutive batches that failed because of an internal error.
  failed_batches smallint not null default 0,
  created_by text not null,
  created_at timestamptz not null,
  last_progress_at timestamptz not null,
  finished_at timestamptz,
  primary key (workspace_id, mode, id)
);

-- Imports take turns, least recently processed first, so that a large one does not block small ones.
create index contact_imports_active on contact_imports (last_progress_at)
  where status in ('queued', 'running');
create index contact_imports_uploading on contact_imports (last_progress_at)
  where status = 'uploading';
create index contact_imports_age on contact_imports (finished_at) where finished_at is not null;

-- The uploaded file in chunks of equal size, deleted as soon as they are processed.
create table contact_import_chunks (
  workspace_id uuid not null,
  mode mode not null,
  import_id uuid not null,
  ordinal integer not null,
  content bytea not null,
  primary key (workspace_id, mode, import_id, ordinal),
  foreign key (workspace_id, mode, import_id) references contact_imports on delete cascade
);

-- Not compressed, because each chunk is read once and then deleted.
alter table contact_import_chunks alter column content set storage external;

-- One row per line that failed. The content of the line is not stored.
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
