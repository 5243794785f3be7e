-- The rows of a message are found by its ID alone: see docs/decisions/0094. All workspaces then write at the
-- right edge of these indexes, which is the cheapest insert there is, instead of each at its own place.
-- Partitions that contain rows have their new indexes already (db/partition-indexes.ts), so that this
-- takes milliseconds.

-- In the order in which statements of running servers lock them, so that none waits for the other.
lock table message_contents, deliveries, attempts, events in access exclusive mode;

alter table deliveries drop constraint deliveries_pkey;
alter table attempts drop constraint attempts_pkey;
alter table message_contents drop constraint message_contents_pkey;
drop index events_message;

do $$
declare
  built record;
begin
  for built in
    select i.inhrelid::regclass as partition, c.relname as name
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
      join pg_index x on x.indrelid = c.oid and x.indisvalid
       and x.indexrelid = to_regclass(quote_ident(c.relname || '_message'))
     where i.inhparent in ('deliveries'::regclass, 'attempts'::regclass, 'message_contents'::regclass)
  loop
    execute format('alter table %s add constraint %I primary key using index %I',
      built.partition, built.name || '_pkey', built.name || '_message');
  end loop;
end $$;

alter table deliveries add primary key (message_id, ordinal);
alter table attempts add primary key (message_id, ordinal, number);
alter table message_contents add primary key (id);
create index events_message on events (message_id, id) where message_id is not null;
