-- Addresses and domains that must not be sent to.

create table suppressions (
  workspace_id uuid not null,
  mode mode not null,
  -- A lowercase address, '@' and a domain, or '#' and the hash of an erased address.
  key text collate "C" not null,
  id uuid not null,
  email text,
  domain text,
  reason text not null,
  -- { message_id, smtp } of the bounce or complaint that caused the suppression.
  evidence json,
  note text,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (workspace_id, mode, key)
);

-- mode comes last for the same reason as in contacts_id (0009-contacts.sql).
create unique index suppressions_id on suppressions (workspace_id, id, mode);
create index suppressions_reason on suppressions (workspace_id, reason, mode, id);
create index suppressions_expiry on suppressions (expires_at) where expires_at is not null;
