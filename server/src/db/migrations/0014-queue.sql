-- The processes that hold leases. Each increments its counter every second; the leases of one whose
-- counter has stopped are taken over by another of the same queue: see queue/lease-holder.ts.
create table lease_holders (
  -- The first part of the numbers of its leases.
  id integer primary key check (id between 1 and 16777215),
  queue text not null check (queue in ('deliveries', 'webhook-deliveries')),
  -- Host and process, for operators.
  name text not null,
  heartbeats bigint not null default 0
);
