-- Sending domains, with the keys that sign for them. Shared by both modes of a workspace.

create table domains (
  workspace_id uuid not null references workspaces,
  id uuid not null,
  name text collate "C" not null,
  -- How one follows from another: see domains/domain-status.ts.
  status text not null check (status in ('pending', 'verified', 'degraded', 'failed')),
  -- The operator's word that the domain is ours, without DNS.
  trusted boolean not null default false,
  ownership_token text not null,
  return_path_host text not null,
  tracking_host text,
  tls text not null check (tls in ('opportunistic', 'required')),
  track_opens boolean not null,
  track_clicks boolean not null,
  -- What was found per record: see domains/record-states.ts.
  checks json not null default '[]',
  created_at timestamptz not null,
  verified_at timestamptz,
  -- When the look-ups behind `checks` began: an older check never overwrites a newer one.
  checked_at timestamptz,
  -- Null: never by itself. Whoever takes a domain for a check moves this on, so that another node
  -- takes over when the first one is gone.
  check_due_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, name)
);

create index domains_name on domains (name);
create index domains_check_due on domains (check_due_at) where check_due_at is not null;

-- Private halves are sealed with SECRET_KEY. `slot` is what the key is for now: signing with
-- 'current', published ahead as 'next', or 'retired' while mail signed with it is still under way;
-- a retired key's private half is gone.
create table domain_keys (
  workspace_id uuid not null,
  domain_id uuid not null,
  selector text not null,
  algorithm text not null check (algorithm in ('rsa', 'ed25519')),
  slot text not null check (slot in ('current', 'next', 'retired')),
  dns_value text not null,
  sealed_private_key bytea,
  created_at timestamptz not null,
  retired_at timestamptz,
  primary key (workspace_id, domain_id, selector),
  foreign key (workspace_id, domain_id) references domains on delete cascade,
  check ((slot = 'retired') = (sealed_private_key is null)),
  check ((slot = 'retired') = (retired_at is not null))
);

create unique index domain_keys_slot on domain_keys (workspace_id, domain_id, algorithm, slot)
  where slot <> 'retired';
