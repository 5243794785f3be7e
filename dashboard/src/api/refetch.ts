import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';

/**
 * Marks matching queries stale and refetches them. A query that is loading for the first time may
 * already have been answered with old data, and react-query would not start a second request for
 * it, so such a query is refetched when its first load ends.
 */
export function refetchQueries(queries: QueryClient, filters: QueryFilters): void {
  const loading = queries.getQueryCache().findAll(filters).filter(isFirstLoad);
  void queries.invalidateQueries(filters);
  for (const query of loading) {
    if (pendingRefetch.has(query)) continue;
    pendingRefetch.add(query);
    void waitForFirstLoad(query).then(() => {
      pendingRefetch.delete(query);
      void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
    });
  }
}

/** Resolves when the first load has ended, successfully or not; at once for a loaded query. */
export async function waitForFirstLoad(query: Query | undefined): Promise<void> {
  if (query && isFirstLoad(query)) await query.promise?.catch(() => {});
}

const pendingRefetch = new WeakSet<Query>();

function isFirstLoad({ state }: Query): boolean {
  return state.data === undefined && state.fetchStatus !== 'idle';
}
