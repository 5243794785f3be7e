import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';

/**
 * Something happened, so these answers are old. One that is awaited for the first time may have been
 * written before it happened: react-query would join the new question to the one under way, so it is
 * asked anew when that one ends.
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

/** The end of the first question, good or bad; at once where there has been an answer. */
export async function waitForFirstLoad(query: Query | undefined): Promise<void> {
  if (query && isFirstLoad(query)) await query.promise?.catch(() => {});
}

const pendingRefetch = new WeakSet<Query>();

function isFirstLoad({ state }: Query): boolean {
  return state.data === undefined && state.fetchStatus !== 'idle';
}
