-- Sending domains and their DKIM keys. Shared by both modes of a workspace.

create table domains (
  workspace_id uuid not null references workspaces,
  id uuid not null,
  name text collate "C" not null,
  status text not null check (status in ('pending', 'verified', 'degraded', 'failed')),
  -- The operator vouches for the ownership of the domain, so DNS is not required.
  trusted boolean not null default false,
  ownership_token text not null,
  return_path_host text not null,
  tracking_host text,
  tls text not null check (tls in ('opportunistic', 'required')),
  track_opens boolean not null,
  track_clicks boolean not null,
  -- The last result for each DNS record.
  checks json not null default '[]',
  created_at timestamptz not null,
  verified_at timestamptz,
  -- When the lookups behind `checks` started: an older check never overwrites a newer one.
  checked_at timestamptz,
  -- Null: no automatic check. A node that claims a domain for a check moves this into the future, so
  -- that another node takes over if the first one dies.
  check_due_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, name)
);

create index domains_name on domains (name);
create index domains_check_due on domains (check_due_at) where check_due_at is not null;

-- Private keys are encrypted with SECRET_KEY. A key in the slot 'current' signs, one in 'next' is
-- published ahead of a rotation, and one in 'retired' stays published while mail signed with it is
-- in transit; its private key has been deleted.
create table domain_keys (
  workspace_id uuid not null,
  domain_id uuid not null,
  selector text not null,
  algorithm text not null check (algorithm in ('rsa', 'ed25519')),
  slot text not null check (slot in ('current', 'next', 'retired')),
  dns_value text not null,
  encrypted_private_key bytea,
  created_at timestamptz not null,
  retired_at timestamptz,
  primary key (workspace_id, domain_id, selector),
  foreign key (workspace_id, domain_id) references domains on delete cascade,
  check ((slot = 'retired') = (encrypted_private_key is null)),
  check ((slot = 'retired') = (retired_at is not null))
);

create unique index domain_keys_slot on domain_keys (workspace_id, domain_id, algorithm, slot)
  where slot <> 'retired';

-- The host names in DNS records that the server was last started with; a single row. Commands use them
-- instead of the settings of their shell: see domains/mail-hosts-store.ts.
create table mail_hosts (
  singleton boolean primary key default true check (singleton),
  bounce_host text not null,
  spf_mechanism text not null,
  tracking_target text not null
);
