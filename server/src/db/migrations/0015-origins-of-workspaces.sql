-- Owners make workspaces out of one that the operator made, its origin. All that have one origin are
-- counted together, whoever owns them. Null: the operator made it.

alter table workspaces add column origin_id uuid references workspaces;

create index workspaces_origin on workspaces (origin_id) where origin_id is not null;

-- What was made before goes back to the oldest workspace of its first owner.
update workspaces w set origin_id = o.workspace_id
from (
  select distinct on (workspace_id) workspace_id, person_id from memberships
  where role = 'owner' order by workspace_id, created_at, person_id
) first, lateral (
  select workspace_id from memberships
  where person_id = first.person_id and role = 'owner' order by workspace_id limit 1
) o
where w.id = first.workspace_id and o.workspace_id <> w.id;
