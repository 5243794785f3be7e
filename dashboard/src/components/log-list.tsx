import type { ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';
import { ErrorAlert } from './alert.tsx';
import { LoadMore } from './load-more.tsx';
import { SkeletonRows } from './skeleton.tsx';

/**
 * The rows of a log while they load, fail to load, or are there. A request examines a limited number
 * of entries, so a page may be empty although there are more.
 */
export function LogList<Row extends { id: string }>({
  list,
  label,
  items,
  empty,
  columns,
  header,
  children,
}: {
  list: Parameters<typeof LoadMore>[0] & {
    rows: readonly Row[];
    isPending: boolean;
    isLoadingError: boolean;
    error: unknown;
    refetch: () => unknown;
  };
  label: string;
  /** What the rows are, in the plural. */
  items: string;
  empty: ReactNode;
  /** The grid columns of the header, from medium windows on. */
  columns: string;
  /** The labels of the columns. Screen readers read the rows without them. */
  header: ReactNode;
  children: (row: Row) => ReactNode;
}) {
  if (list.isPending) return <SkeletonRows rows={12} />;
  if (list.isLoadingError) {
    return (
      <ErrorAlert error={list.error} className="mx-4 sm:mx-6" onRetry={() => void list.refetch()} />
    );
  }
  if (list.rows.length === 0 && !list.hasNextPage) return empty;
  return (
    <>
      <div
        aria-hidden
        className={classNames(
          'hidden h-8 items-center gap-x-3 border-line border-t bg-sunken px-6 text-xs font-medium text-faint md:grid',
          columns,
        )}
      >
        {header}
      </div>
      <ul aria-label={label} className="divide-y divide-line border-y border-line">
        {list.rows.map(children)}
      </ul>
      <LoadMore {...list} label={list.rows.length === 0 ? `Search older ${items}` : 'Load more'} />
    </>
  );
}
