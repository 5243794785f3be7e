import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';

/**
 * Something happened, so these answers are old. One that is awaited for the first time may have been
 * written before it happened: react-query would join the new question to the one under way, so it is
 * asked anew when that one ends.
 */
export function askAgain(queries: QueryClient, filters: QueryFilters): void {
  const awaited = queries.getQueryCache().findAll(filters).filter(isFirst);
  void queries.invalidateQueries(filters);
  for (const query of awaited) {
    if (askedAfter.has(query)) continue;
    askedAfter.add(query);
    void firstAnswer(query).then(() => {
      askedAfter.delete(query);
      void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
    });
  }
}

/** The end of the first question, good or bad; at once where there has been an answer. */
export async function firstAnswer(query: Query | undefined): Promise<void> {
  if (query && isFirst(query)) await query.promise?.catch(() => {});
}

const askedAfter = new WeakSet<Query>();

function isFirst({ state }: Query): boolean {
  return state.data === undefined && state.fetchStatus !== 'idle';
}
