-- What this installation knows about itself. Each table has a single row.

-- Identifies the SECRET_KEY that secrets in this database are encrypted with, so that a start with
-- another key is refused: see db/verify-secret-key.ts.
create table secret_key_fingerprint (
  singleton boolean primary key default true check (singleton),
  fingerprint bytea not null
);

-- The last time at which the clock was plausible. Retention deletes nothing after a large jump of the
-- clock until the jump is confirmed: see db/retention-clock.ts.
create table retention_clock (
  singleton boolean primary key default true check (singleton),
  last_seen_at timestamptz not null,
  jump_seen_at timestamptz
);
