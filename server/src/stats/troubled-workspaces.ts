/**
 * Selects the workspaces whose live mail had at least so many bounces or complaints since a time; null for
 * a number: they do not matter. The brake and the alarms look at these only: these indexes have nothing but
 * bounces and complaints, so the cost does not grow with the number of workspaces in good standing. The
 * parameters are parts of the statement.
 */
export function troubledWorkspaces(
  since: string,
  bouncedMin: string,
  complainedMin: string,
): string {
  return `select workspace_id from (
      select workspace_id, case counter when 'bounced' then n end as bounced,
             case counter when 'complained' then n end as complained
        from statistics_hour where mode = 'live' and dimension = 'all'
         and counter in ('bounced', 'complained') and at >= ${since}
      union all
      select workspace_id, bounced, complained from statistics_hours
       where mode = 'live' and (bounced is not null or complained is not null) and at >= ${since}
      union all
      select workspace_id, bounced, complained from statistics_recent
       where mode = 'live' and (bounced is not null or complained is not null) and at >= ${since}
      union all
      select workspace_id, bounced, complained from statistics_appended
       where mode = 'live' and (bounced is not null or complained is not null) and at >= ${since}) t
    group by workspace_id having sum(bounced) >= ${bouncedMin} or sum(complained) >= ${complainedMin}`;
}

/** The fewest that can reach one of the rates; null if all are disabled. */
export function fewestThatMatter(recipientsMin: number, rates: readonly number[]): number | null {
  const enabled = rates.filter((rate) => rate > 0);
  return enabled.length === 0 ? null : Math.floor(Math.min(...enabled) * recipientsMin);
}
