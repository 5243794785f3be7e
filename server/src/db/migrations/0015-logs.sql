-- The log of API requests, and the audit log of changes. Partitioned for retention: see
-- 0005-events.sql.

-- One row per request of a workspace. Rows are written in groups, off the request's path, and when a
-- workspace sends many requests, only a part of the successful ones is kept: see logs/request-log.ts.
create table request_log (
  workspace_id uuid not null,
  mode mode not null,
  -- The request id, as in X-Request-Id; its time is when the request arrived.
  id uuid not null,
  method text not null,
  -- Without the query string, and without addresses.
  path text not null,
  -- The operationId; null if no operation has this path and method.
  operation text,
  status smallint not null,
  duration_ms integer not null,
  -- The public id of the API key, or of the signed-in user.
  actor text not null,
  ip text not null,
  user_agent text not null,
  -- The message that the request sent or concerns.
  message_id uuid,
  -- Only of failed requests: the problem that was returned, and what was sent, redacted and cut.
  -- These are the only columns that may contain an address.
  problem json,
  query json,
  body json,
  primary key (workspace_id, mode, id)
) partition by range (id);

-- Failed requests are what people search for, and what the erasure of an address reads.
create index request_log_failed on request_log (workspace_id, mode, id) where status >= 400;

-- Who changed what, when and from where. An entry contains no secrets and no addresses of recipients,
-- so that an erasure never has to change one.
create table audit_log (
  -- The nil UUID for the log of the server itself: what operator keys and the command line changed.
  workspace_id uuid not null,
  id uuid not null,
  created_at timestamptz not null,
  -- The mode of the API key, or the mode that a member was viewing; null on the command line, and for
  -- changes to an account.
  mode mode,
  -- The operationId, or the command as typed.
  action text collate "C" not null,
  actor_type text not null check (actor_type in ('api_key', 'user', 'operator_key', 'cli')),
  -- The id of the API key, the person or the operator key; null on the command line.
  actor_id uuid,
  -- The id or key of what was changed, as in the API.
  target text,
  -- The request id; null on the command line.
  request_id uuid,
  ip text,
  user_agent text,
  -- Unknown if the server ended while the change was made; see audit_intents.
  outcome text not null check (outcome in ('succeeded', 'unknown')),
  -- What was sent, without secrets and addresses.
  details json not null,
  primary key (workspace_id, id),
  check ((actor_id is null) = (actor_type = 'cli'))
) partition by range (id);

-- Entries are never changed or deleted one by one. Retention drops whole partitions, which is not a
-- deletion of rows, and the purge of a deleted workspace removes its entries.
create function refuse_audit_log_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.workspace_id <> '00000000-0000-0000-0000-000000000000' and not exists (
    select from workspaces where id = old.workspace_id and purge_started_at is null) then
    return old;
  end if;
  raise exception 'the audit log is append-only'
    using errcode = 'check_violation', constraint = 'audit_log_append_only';
end $$;

create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function refuse_audit_log_change();

-- Changes that are being made. A row is committed before its change and deleted with its entry, so that
-- no crash loses an entry: logs/audit-log.ts turns rows that were left into entries with the outcome
-- `unknown`.
create table audit_intents (
  id uuid primary key,
  created_at timestamptz not null,
  -- The entry as far as it is known before the change.
  change json not null
);
