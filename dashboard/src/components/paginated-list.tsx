import type { ReactNode } from 'react';
import { ErrorAlert } from './alert.tsx';
import { LoadMore } from './load-more.tsx';
import { SkeletonRows } from './skeleton.tsx';

interface LoadingQuery {
  isPending: boolean;
  isLoadingError: boolean;
  error: unknown;
  refetch: () => unknown;
}

const PAGE_MARGIN = 'mx-4 sm:mx-6';

/**
 * Shows placeholder rows while a query loads, and its error if it does not load. Content that failed
 * to refresh stays visible.
 */
export function Loadable({
  query,
  placeholderRows,
  errorClassName = PAGE_MARGIN,
  children,
}: {
  query: LoadingQuery;
  placeholderRows?: number;
  errorClassName?: string;
  children: ReactNode;
}) {
  if (query.isPending) return <SkeletonRows rows={placeholderRows} />;
  if (query.isLoadingError) {
    return (
      <ErrorAlert
        error={query.error}
        className={errorClassName}
        onRetry={() => void query.refetch()}
      />
    );
  }
  return children;
}

/**
 * The pages of a list loaded so far. Some requests examine a limited number of rows, so a page may be
 * empty although there are more.
 */
export function PaginatedList({
  list,
  empty,
  items,
  children,
  ...loading
}: {
  list: LoadingQuery & Parameters<typeof LoadMore>[0] & { rows: readonly unknown[] };
  empty: ReactNode;
  /** What the rows are, in the plural, for lists whose pages may be empty. */
  items?: string;
  placeholderRows?: number;
  errorClassName?: string;
  /** What contains the rows. */
  children: ReactNode;
}) {
  const nothingYet = list.rows.length === 0;
  return (
    <Loadable query={list} {...loading}>
      {nothingYet && !list.hasNextPage ? (
        empty
      ) : (
        <>
          {children}
          <LoadMore
            {...list}
            {...(nothingYet && items ? { label: `Search older ${items}` } : {})}
          />
        </>
      )}
    </Loadable>
  );
}
