-- The ledger is in the order of transactions. PostgreSQL counts them for itself, so a dump that is
-- restored elsewhere meets smaller numbers than those of its history: ours are ahead of them by as
-- much as it takes. storage/ledger-numbers.ts writes these functions anew with that number.

create function ledger_tx() returns bigint language sql stable
  return pg_current_xact_id()::text::bigint + 0;

create function ledger_horizon() returns bigint language sql stable
  return pg_snapshot_xmin(pg_current_snapshot())::text::bigint + 0;
