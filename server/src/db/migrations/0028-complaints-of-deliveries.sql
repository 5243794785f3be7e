-- When the recipient reported the message as spam. Complaints from before this migration are only in the
-- events. Without a default, so that no row is rewritten; null takes no space.

alter table deliveries add column complained_at timestamptz;
