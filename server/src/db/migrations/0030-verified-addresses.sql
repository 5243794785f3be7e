-- When it was proved that the holder of an account receives the mail of its address; null while that is
-- unknown. Until then someone else may have created the account for that address: the first proof removes
-- every credential that was set before. See docs/decisions/0099.

alter table people add column email_verified_at timestamptz;

-- Of a change of the address: whether the previous one was verified, for undoing the change.
alter table email_changes add column previous_email_verified_at timestamptz;

-- The first account is that of the operator. Invitations have a message while their current link is the one
-- that was emailed.
update people p set email_verified_at = p.created_at
 where p.is_instance_owner
    or exists (select from invitations i where i.email_key = p.email_key
                and i.accepted_at is not null and i.message_id is not null);
