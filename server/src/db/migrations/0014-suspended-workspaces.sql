-- The operator has stopped the live mail of a workspace: since when, and what its people are told.

alter table workspaces
  add column suspended_at timestamptz,
  add column suspended_for text,
  add check ((suspended_at is null) = (suspended_for is null));
