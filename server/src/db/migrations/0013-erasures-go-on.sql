-- How far an erasure has come through the events that belong to no message; null: it begins.

alter table erasures add column events_after uuid;
