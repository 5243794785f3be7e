-- The public URL of this installation, which servers write at startup. A single row. The command that moves
-- a workspace here reads it.
create table installation (
  singleton boolean primary key default true check (singleton),
  base_url text not null
);

-- Workspaces that were here and have moved to another installation: what their members and the holders of
-- their keys see who still come here. Kept for a while, and until the workspace moves back.
create table moved_workspaces (
  id uuid primary key,
  name text not null,
  -- The public URL of the other installation; null if it was not known.
  url text,
  moved_at timestamptz not null
);

-- Only the cleanup job reads by time.
create index moved_workspaces_age on moved_workspaces (moved_at);

-- Members at the time of the move. Their accounts stay as long as the record.
create table moved_members (
  person_id uuid not null references people on delete cascade,
  moved_id uuid not null references moved_workspaces on delete cascade,
  primary key (person_id, moved_id)
);

create index moved_members_workspace on moved_members (moved_id);

-- Hashes of API keys and of links in invitations: only their holders learn where the workspace is.
create table moved_secrets (
  token_hash bytea primary key,
  moved_id uuid not null references moved_workspaces on delete cascade,
  expires_at timestamptz
);

create index moved_secrets_workspace on moved_secrets (moved_id);
