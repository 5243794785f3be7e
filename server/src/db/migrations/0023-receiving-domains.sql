-- Domains whose inbound mail is stored. A mail is addressed to a name, not to a workspace, so only one
-- workspace can receive it.

alter table domains add column receiving boolean not null default false;

create unique index domains_receiving on domains (name) where receiving;
