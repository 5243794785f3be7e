-- The check of transitions becomes an AFTER trigger, which costs a recorded result next to nothing: a
-- BEFORE trigger locks each row before it is updated, even if its condition is false. The function is not
-- called for the transitions of attempts, from `queued` to any state after it in the order of the type.
drop trigger deliveries_transition on deliveries;

create trigger deliveries_transition after update of status on deliveries
  for each row
  when (old.status <> new.status and not (old.status = 'queued' and new.status > 'queued'))
  execute function check_delivery_transition();
