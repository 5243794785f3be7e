-- The sending address of an attempt and the provider with which it is being warmed up: bounces and complaints
-- that arrive later count for this warm-up. Null for all other attempts. See docs/decisions/0097.

alter table attempts add column warm_up_sender text;
alter table attempts add column warm_up_provider text;
