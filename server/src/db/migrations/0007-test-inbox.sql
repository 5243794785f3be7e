-- Where test mode delivers: one row per message that was delivered to at least one recipient.

create table test_inbox (
  workspace_id uuid not null,
  message_id uuid not null,
  arrived_at timestamptz not null,
  -- Set when /test/inbox/wait has returned the message.
  consumed_at timestamptz,
  primary key (workspace_id, message_id)
) partition by range (message_id);

create index test_inbox_unconsumed on test_inbox (workspace_id, message_id)
  where consumed_at is null;
