-- The brake looks every 30 seconds for workspaces with many bounces or complaints. These indexes have only
-- those counters, so that the counts of all other workspaces are not read. Without `n`, because an update of
-- an indexed column would change all indexes of the row.
create index statistics_hour_trouble on statistics_hour (at, workspace_id)
  where mode = 'live' and dimension = 'all' and counter in ('bounced', 'complained');

create index statistics_recent_trouble on statistics_recent (at, workspace_id)
  where mode = 'live' and (bounced is not null or complained is not null);
