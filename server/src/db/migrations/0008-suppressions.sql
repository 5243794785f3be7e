-- Streams, and addresses and domains that must not be sent to.

-- Kinds of mail of a workspace. Shared by both modes. Every workspace has the stream `transactional`;
-- its row exists only if someone has changed it.
create table streams (
  workspace_id uuid not null references workspaces,
  key text collate "C" not null,
  name text not null,
  purpose text not null check (purpose in ('transactional', 'subscription')),
  -- Null: the setting of the sender's domain.
  track_opens boolean,
  track_clicks boolean,
  -- On the page where recipients unsubscribe. Null: the name of the workspace, and our own look.
  brand_name text,
  brand_logo_url text,
  brand_color text,
  -- The sender of mail that names none, neither itself nor in its template.
  from_email text,
  from_name text,
  -- A name of STREAM_ROUTES. Null: DELIVERY_ROUTE.
  route text collate "C",
  -- How fast live mail is sent by each node. Null: without a limit.
  messages_per_minute integer check (messages_per_minute > 0),
  -- Null: as long as that of all mail.
  content_retention_days integer check (content_retention_days > 0),
  -- When content was last deleted, and up to which message.
  content_checked_at timestamptz,
  live_content_cursor uuid,
  test_content_cursor uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, key)
);

create index streams_content_retention on streams (content_checked_at nulls first)
  where content_retention_days is not null;

create table suppressions (
  workspace_id uuid not null,
  mode mode not null,
  -- A lowercase address, '@' and a domain, or '#' and the hash of an erased address.
  key text collate "C" not null,
  -- The key of the stream that the suppression is limited to; empty if it applies to all mail.
  stream text collate "C" not null default '',
  id uuid not null,
  email text,
  domain text,
  reason text not null,
  -- { message_id, smtp } of the bounce or complaint that caused the suppression.
  evidence json,
  note text,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (workspace_id, mode, key, stream)
);

-- mode comes last for the same reason as in contacts_id (0009-contacts.sql).
create unique index suppressions_id on suppressions (workspace_id, id, mode);
create index suppressions_reason on suppressions (workspace_id, reason, mode, id);
create index suppressions_stream on suppressions (workspace_id, stream, reason, mode, id);
create index suppressions_expiry on suppressions (expires_at) where expires_at is not null;
