-- People: who may sign in, their sessions, and what they are in each workspace.
--
-- Of every secret only a SHA-256 is here (passwords: scrypt), except the second factor's, which is
-- needed to check codes and is sealed with SECRET_KEY.

create table people (
  id uuid primary key,
  email text not null,
  -- Lower-case, for comparing.
  email_key text collate "C" not null unique,
  name text not null,
  password_hash text not null,
  totp_secret bytea,
  -- Null while the set-up waits for its first code: until then it is not asked for.
  totp_confirmed_at timestamptz,
  -- The time step of the last code that was taken: a code works once.
  totp_step bigint,
  recovery_hashes bytea[] not null default '{}',
  created_at timestamptz not null,
  check (totp_confirmed_at is null or totp_secret is not null)
);

create table sessions (
  token_hash bytea primary key,
  id uuid not null unique,
  person_id uuid not null references people on delete cascade,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  ends_at timestamptz not null,
  -- Signed out before its end. The row stays a while: a source that was used before is known.
  ended_at timestamptz,
  ip text not null,
  -- The network that attempts are counted by: see lib/net/client-network.ts.
  source text collate "C" not null,
  user_agent text not null
);

create index sessions_person on sessions (person_id, source);
create index sessions_end on sessions (ends_at);

-- Links in mails, and sign-ins that wait for their second factor.
create table one_time_tokens (
  token_hash bytea primary key,
  person_id uuid not null references people on delete cascade,
  purpose text not null check (purpose in ('password_reset', 'second_factor')),
  ends_at timestamptz not null
);

create index one_time_tokens_person on one_time_tokens (person_id);
create index one_time_tokens_end on one_time_tokens (ends_at);

create table memberships (
  workspace_id uuid not null references workspaces,
  person_id uuid not null references people on delete cascade,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  created_at timestamptz not null,
  primary key (workspace_id, person_id)
);

create index memberships_person on memberships (person_id, workspace_id);

create table invitations (
  workspace_id uuid not null references workspaces,
  id uuid not null,
  email text not null,
  email_key text collate "C" not null,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  token_hash bytea not null unique,
  invited_by uuid not null,
  created_at timestamptz not null,
  ends_at timestamptz not null,
  accepted_at timestamptz,
  revoked_at timestamptz,
  primary key (workspace_id, id)
);

-- A newer invitation takes the place of the one before.
create unique index invitations_open on invitations (workspace_id, email_key)
  where accepted_at is null and revoked_at is null;

-- How often a password or a code was tried, by account and by source; subjects are hashes, because
-- what people type into the wrong field is nobody's business.
create table attempts_counted (
  subject bytea primary key,
  attempts integer not null,
  last_at timestamptz not null,
  -- No further try before this.
  free_at timestamptz not null
);

create index attempts_counted_age on attempts_counted (last_at);
