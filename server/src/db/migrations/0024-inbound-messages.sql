-- Mail that arrives for the domains of workspaces. Partitioned for retention: see 0005-events.sql.

create table inbound_messages (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  received_at timestamptz not null,
  -- The receiving domain of the first recipient.
  domain text collate "C" not null,
  -- The envelope. The sender is empty for bounces and automatic replies.
  mail_from text not null,
  recipients text[] not null,
  -- The address in From; null if there is none.
  sender text,
  sender_name text,
  subject text not null,
  -- Without angle brackets.
  header_message_id text collate "C",
  -- The message of the workspace that it answers.
  in_reply_to_message_id uuid,
  -- In bytes, with our Received field.
  size integer not null,
  -- A hash of the envelope and of the bytes as they arrived. A sender that lost our reply transmits the
  -- same again, which is stored once.
  fingerprint bytea not null,
  -- The other fields of the public form, and who delivered the mail.
  details json not null,
  primary key (workspace_id, mode, id)
) partition by range (id);

-- The condition always holds. It keeps the planner from looking up messages by their key here, as in
-- deliveries_recipient.
create index inbound_messages_fingerprint on inbound_messages (workspace_id, mode, fingerprint)
  where fingerprint is not null;

create index inbound_messages_reply on inbound_messages (workspace_id, mode, in_reply_to_message_id, id)
  where in_reply_to_message_id is not null;

-- The addresses of each message: who sent it, to whom it was delivered, and who else is named in it. For
-- filters by address and for erasure, whose cost must not grow with the mail of others.
create table inbound_addresses (
  workspace_id uuid not null,
  mode mode not null,
  message_id uuid not null,
  -- Lowercase, for comparison, as deliveries.recipient_key.
  address_key text collate "C" not null,
  -- The envelope sender, or the address in From.
  is_sender boolean not null,
  -- An envelope recipient.
  is_recipient boolean not null,
  primary key (workspace_id, mode, message_id, address_key)
) partition by range (message_id);

-- The condition always holds, too.
create index inbound_addresses_key on inbound_addresses (workspace_id, mode, address_key, message_id)
  where address_key is not null;

-- The mail as it arrived, behind our Received field. Retained for a shorter time than the message itself.
create table inbound_contents (
  workspace_id uuid not null,
  mode mode not null,
  id uuid not null,
  raw bytea not null,
  primary key (workspace_id, mode, id)
) partition by range (id);
