-- Workspaces (tenants) and their API keys.
--
-- Every tenant table has workspace_id first in its keys, so that a tenant's rows are adjacent and
-- the tables could be sharded by tenant without changing any statement. Timestamps always come from
-- the application: no default and no statement reads the database clock.

create type mode as enum ('live', 'test');

create table workspaces (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null,
  -- Set while the operator has suspended live sending; the reason is shown to the members.
  suspended_at timestamptz,
  suspension_reason text,
  -- The operator-created workspace that this one descends from; null if the operator created it.
  -- Limits on the number of workspaces count all descendants of one origin, with any owner.
  origin_id uuid references workspaces,
  -- Set while the workspace is scheduled for deletion: live mail is held, and its owners can restore it
  -- until the purge starts.
  deletion_requested_at timestamptz,
  delete_at timestamptz,
  purge_started_at timestamptz,
  check ((suspended_at is null) = (suspension_reason is null)),
  check ((deletion_requested_at is null) = (delete_at is null)),
  check (purge_started_at is null or delete_at is not null)
);

create index workspaces_delete_at on workspaces (delete_at) where delete_at is not null;
create index workspaces_origin on workspaces (origin_id) where origin_id is not null;
-- Finds the workspace of a return path, which has the end of its ID.
create index workspaces_tail on workspaces (right(id::text, 8));

-- Credentials of the operator for the operations under /operator, which manage all workspaces. They
-- belong to the server, not to a workspace, and only the command line creates them. Only the hash of the
-- secret is stored.
create table operator_keys (
  id uuid primary key,
  name text not null,
  token_hash bytea not null unique,
  token_hint text not null,
  allowed_ips text[] not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

create table api_keys (
  workspace_id uuid not null references workspaces,
  id uuid not null,
  mode mode not null,
  name text not null,
  scopes text[] not null,
  allowed_domains text[] not null default '{}',
  allowed_ips text[] not null default '{}',
  -- Empty: all streams. The first is the default of sends that do not name one.
  allowed_streams text[] not null default '{}',
  token_hint text not null,
  -- The id of an API key, of a person or of an operator key, or 'cli'.
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  -- When the event about the approaching expiry was written; null if it has not been.
  expiry_notified_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (workspace_id, id)
);

-- Maps the hash of a presented secret to its key. A key has two rows during the grace period of a
-- rotation; the row of the old secret then has an expiry.
create table api_key_secrets (
  token_hash bytea primary key,
  workspace_id uuid not null,
  key_id uuid not null,
  expires_at timestamptz,
  foreign key (workspace_id, key_id) references api_keys on delete cascade
);

create index api_key_secrets_key on api_key_secrets (workspace_id, key_id);

-- Credentials for the API of Amazon SES, whose requests are signed: the secret must be read back to
-- verify a signature, so it is encrypted. Deleted when the credential or its key is revoked.
create table ses_credentials (
  access_key_id text collate "C" primary key,
  workspace_id uuid not null,
  key_id uuid not null,
  encrypted_secret bytea not null,
  created_by text not null,
  created_at timestamptz not null,
  foreign key (workspace_id, key_id) references api_keys on delete cascade
);

create index ses_credentials_key on ses_credentials (workspace_id, key_id);
