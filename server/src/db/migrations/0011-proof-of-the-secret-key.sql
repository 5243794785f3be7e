-- Tells whether a SECRET_KEY is the one that secrets in here were sealed with: see prove-secret-key.ts.

create table secret_key_proof (
  only_row boolean primary key default true check (only_row),
  proof bytea not null
);
