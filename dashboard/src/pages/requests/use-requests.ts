import { useQuery } from '@tanstack/react-query';
import { type Schema, unwrap } from '../../api/client.ts';
import { fetchAllRows, type Polling, pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';
import { useCan, useMe } from '../../session/session.ts';
import { useActorName } from '../team/actor-name.ts';

export type LoggedRequest = Schema<'LoggedRequest'>;

/** The page's search parameters. */
export interface RequestFilters extends TimeRange {
  /** A part of the path, or a request ID. */
  q?: string;
  status?: string;
  method?: string;
  key?: string;
}

/** Requests emit no events, so the list is polled. */
const POLL: Polling<LoggedRequest> = { while: () => true, everyMs: 5_000 };

export function useRequests(filters: RequestFilters) {
  const { api, key } = useApi();
  return usePaginatedQuery(
    key('requests', filters),
    (cursor) =>
      unwrap(
        api.GET('/api/v1/requests', {
          params: { query: { ...pageParams(cursor), ...queryOf(filters) } },
        }),
      ),
    { watch: POLL },
  );
}

function queryOf({ q, status, method, key, ...range }: RequestFilters) {
  return {
    ...(q ? (q.startsWith('req_') ? { request_id: q.trim() } : { path: q }) : {}),
    ...(status ? { status } : {}),
    ...(method ? { method: method as 'GET' } : {}),
    ...(key ? { api_key_id: key } : {}),
    ...timeQuery(range, Date.now()),
  };
}

/** The API keys of the workspace, for names and the filter. Empty without the permission. */
export function useApiKeys(): readonly Schema<'ApiKey'>[] {
  const { api, key } = useApi();
  const keys = useQuery({
    queryKey: key('api-keys', 'names'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/api-keys', { params: { query } }))),
    enabled: useCan()('read:api_keys'),
    staleTime: 60_000,
  });
  return keys.data ?? [];
}

/** The name of the API key or member behind a request. */
export function useRequestActor(): (actor: string) => string {
  const keys = useApiKeys();
  const me = useMe();
  const nameOf = useActorName();
  return (actor) => {
    if (actor === me.id) return 'You';
    return keys.find(({ id }) => id === actor)?.name ?? nameOf(actor);
  };
}
