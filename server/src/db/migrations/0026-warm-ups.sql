-- Warm-up of sending addresses: how much may be sent from one to each mailbox provider, and how much of it
-- nodes have leased today. One row for each address and provider; the first lease of a day overwrites what
-- was counted on an earlier one. See docs/decisions/0092.

create table warm_ups (
  -- The addresses that mail is sent from, or the HELO name.
  sender text collate "C" not null,
  -- As in traffic shaping; `other` for all receivers without a rule.
  provider text collate "C" not null,
  -- The date in the setting. A later one starts the plan again.
  starts_at timestamptz not null,
  -- The start of the day, in UTC, on which the following was counted.
  day timestamptz not null,
  -- The day of the plan that this day is, from 1.
  plan_day smallint not null,
  -- Messages that nodes may send or have sent.
  leased bigint not null,
  -- Messages that the provider refused because of the reputation or rate of the sender.
  refused bigint not null,
  -- Messages beyond the cap, which took another route or wait.
  overflowed bigint not null,
  primary key (sender, provider)
);
