-- When this house last knew what time it is: see time-to-forget-by.ts. A database that is older than
-- this table begins with the time of its newest event.

create table time_to_forget_by (
  only_row boolean primary key default true check (only_row),
  seen_at timestamptz not null,
  doubted_at timestamptz
);

insert into time_to_forget_by (seen_at)
select created_at from events order by tx desc, id desc limit 1;
