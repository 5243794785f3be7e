-- Sending domains, with the keys that sign for them. Shared by both modes of a workspace.

create table domains (
  workspace_id uuid not null references workspaces,
  id uuid not null,
  name text collate "C" not null,
  -- pending | verified | degraded | failed: see domains/verify-domain.ts.
  status text not null,
  -- The operator's word that the domain is ours, without DNS.
  trusted boolean not null default false,
  ownership_token text not null,
  return_path_label text not null default 'bounce',
  tls text not null default 'opportunistic',
  track_opens boolean not null default false,
  track_clicks boolean not null default false,
  -- What the last look-up found per record.
  checks json,
  created_at timestamptz not null,
  verified_at timestamptz,
  checked_at timestamptz,
  check_due_at timestamptz,
  degraded_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, name)
);

create index domains_name on domains (name);
create index domains_check_due on domains (check_due_at) where check_due_at is not null;

-- Private halves are sealed with SECRET_KEY. `slot` is what the key is for now: signing with
-- 'current', published ahead as 'next', or 'retired' while mail signed with it is still under way.
create table domain_keys (
  workspace_id uuid not null,
  domain_id uuid not null,
  selector text not null,
  algorithm text not null,
  slot text not null,
  dns_value text not null,
  sealed_private_key bytea not null,
  created_at timestamptz not null,
  primary key (workspace_id, domain_id, selector),
  foreign key (workspace_id, domain_id) references domains on delete cascade
);
