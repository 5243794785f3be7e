-- Workspaces, their API keys, and the answers kept for repeated requests.
--
-- Every tenant's table has workspace_id first in its keys, so that one tenant's rows lie together
-- and the tables can be spread over shards by tenant without a change to the statements.
-- Times are always given by the caller: no default and no statement asks the database's clock.

create type mode as enum ('live', 'test');

create table workspaces (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null
);

create table api_keys (
  workspace_id uuid not null references workspaces,
  id uuid not null,
  mode mode not null,
  name text not null,
  scopes text[] not null,
  allowed_domains text[] not null default '{}',
  allowed_ips text[] not null default '{}',
  token_hint text not null,
  -- Who made it: a key's id, a person's id, or 'cli'.
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  expiry_told_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (workspace_id, id)
);

-- The look-up from a presented secret to its key. Two rows while a rotation's grace period runs.
create table api_key_secrets (
  token_hash bytea primary key,
  workspace_id uuid not null,
  key_id uuid not null,
  ends_at timestamptz,
  foreign key (workspace_id, key_id) references api_keys on delete cascade
);

create index api_key_secrets_key on api_key_secrets (workspace_id, key_id);

create table idempotency_keys (
  workspace_id uuid not null,
  mode mode not null,
  key text collate "C" not null,
  request_hash bytea not null,
  -- Null while the first request runs. An answer that may hold a secret is sealed with SECRET_KEY.
  status smallint,
  answer bytea,
  sealed boolean not null default false,
  created_at timestamptz not null,
  primary key (workspace_id, mode, key)
);

-- Only the cleaner reads by time, in long runs: a block range index costs the accepting path nothing.
create index idempotency_keys_age on idempotency_keys using brin (created_at);
