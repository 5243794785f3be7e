-- People who can sign in, their sessions, and their role in each workspace.
--
-- Secrets are stored as SHA-256 hashes and passwords as scrypt hashes. The exceptions are the TOTP
-- secret, which is needed to verify codes, and the client secrets of identity providers, which are sent
-- to them. Both are encrypted with SECRET_KEY.

create table people (
  id uuid primary key,
  email text not null,
  -- Lowercase, for comparison.
  email_key text collate "C" not null unique,
  name text not null,
  -- Null for an account that an identity provider created, until its owner sets a password.
  password_hash text,
  totp_secret bytea,
  -- Null until the first code has been entered; the second factor is not required before that.
  totp_confirmed_at timestamptz,
  -- The time step of the last accepted code, so that each code works only once.
  totp_step bigint,
  recovery_hashes bytea[] not null default '{}',
  created_at timestamptz not null,
  -- When the account is deleted, if its owner asked for it. Until then it can be restored.
  delete_at timestamptz,
  -- Whether the person manages the operator keys of the server.
  is_instance_owner boolean not null default false,
  -- When the email about the deletion is sent (again), unless it has been submitted by then.
  deletion_email_due_at timestamptz,
  check (totp_confirmed_at is null or totp_secret is not null)
);

create table sessions (
  token_hash bytea primary key,
  id uuid not null unique,
  person_id uuid not null references people on delete cascade,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- Signed out before expiry. The row is kept until expiry, because a source network that the
  -- person has signed in from before is trusted more than an unknown one.
  revoked_at timestamptz,
  ip text not null,
  -- The network that sign-in attempts are counted by: an IPv4 address or an IPv6 /64.
  source text collate "C" not null,
  user_agent text not null,
  -- The workspace whose identity provider started the session; null for a password.
  workspace_id uuid references workspaces,
  -- Whether the session is valid in that workspace only, because its members chose the provider: what
  -- it claims about an address must not open another workspace.
  is_limited boolean not null default false,
  -- The ID token with which the provider started the session, encrypted: it names the session to the
  -- provider when the person signs out. Null if there is none, or if it is too long for a URL.
  id_token bytea,
  check (not is_limited or workspace_id is not null)
);

create index sessions_person on sessions (person_id, source);
create index sessions_expiry on sessions (expires_at);
create index sessions_workspace on sessions (workspace_id, id) where workspace_id is not null;

-- The identity provider (OpenID Connect) of a workspace.
create table oidc_connections (
  workspace_id uuid primary key references workspaces,
  -- 'server' if the settings of the server configure it, which only the operator can change.
  managed_by text not null check (managed_by in ('workspace', 'server')),
  name text not null,
  issuer text collate "C" not null,
  client_id text not null,
  encrypted_client_secret bytea not null,
  groups_claim text not null,
  -- In the order in which they are tried: [{"group": "…", "role": "…"}].
  group_roles jsonb not null,
  -- The role of people without a listed group; null if they have no access.
  default_role text check (default_role in ('admin', 'developer', 'viewer')),
  -- Whether members, except owners, must sign in with it.
  is_enforced boolean not null,
  updated_at timestamptz not null
);

-- Accounts that have signed in through the provider of a workspace, by the subject that it gave them.
create table oidc_identities (
  workspace_id uuid not null references workspaces,
  issuer text collate "C" not null,
  subject text collate "C" not null,
  person_id uuid not null references people on delete cascade,
  created_at timestamptz not null,
  primary key (workspace_id, issuer, subject)
);

create index oidc_identities_person on oidc_identities (person_id);

-- Sign-ins with an identity provider or a passkey that were completed, by the hash of their secret or
-- challenge, until they would have expired: each works once.
create table used_sign_ins (
  secret_hash bytea primary key,
  expires_at timestamptz not null
);

create index used_sign_ins_expiry on used_sign_ins (expires_at);

-- Links in emails, sign-ins that are waiting for the second factor, and challenges for a new passkey.
create table one_time_tokens (
  token_hash bytea primary key,
  person_id uuid not null references people on delete cascade,
  purpose text not null check (purpose in ('password_reset', 'second_factor', 'passkey')),
  expires_at timestamptz not null
);

create index one_time_tokens_person on one_time_tokens (person_id);
create index one_time_tokens_expiry on one_time_tokens (expires_at);

-- Credentials with which people sign in without a password (WebAuthn).
create table passkeys (
  person_id uuid not null references people on delete cascade,
  id uuid not null,
  credential_id bytea not null unique,
  public_key bytea not null,
  -- How often the authenticator has signed; always zero if it does not count. A smaller value than
  -- before means that the key was copied.
  counter bigint not null,
  transports text[] not null,
  name text not null,
  is_backed_up boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (person_id, id)
);

-- Changes of a sign-in address: first until a link that was emailed to the new address confirms the
-- change, then for as long as a link that was emailed to the previous address can undo it.
create table email_changes (
  id uuid primary key,
  person_id uuid not null references people on delete cascade,
  email text not null,
  email_key text collate "C" not null,
  -- Null until the change is confirmed.
  previous_email text,
  previous_email_key text collate "C",
  -- The secret of the link that confirms the change or, after the confirmation, of the one that undoes it.
  token_hash bytea not null unique,
  expires_at timestamptz not null,
  -- Null once the previous address was notified. A node that claims the notice moves this into the
  -- future, so that another one sends it if the first one dies.
  notice_due_at timestamptz,
  check ((previous_email is null) = (previous_email_key is null))
);

create index email_changes_person on email_changes (person_id);

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
  -- Null if the operator invited.
  invited_by uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  revoked_at timestamptz,
  -- The live message with the link; null if it was not sent by email.
  message_id uuid,
  primary key (workspace_id, id)
);

-- One pending invitation per address: a new one replaces the previous one.
create unique index invitations_pending on invitations (workspace_id, email_key)
  where accepted_at is null and revoked_at is null;

-- Failed passwords and codes, counted per account and per source network. Subjects are hashed,
-- because people also type secrets into the wrong field.
create table auth_throttles (
  subject bytea primary key,
  attempts integer not null,
  last_attempt_at timestamptz not null,
  blocked_until timestamptz not null
);

create index auth_throttles_age on auth_throttles (last_attempt_at);
