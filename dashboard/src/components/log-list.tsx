import type { ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';
import { PaginatedList } from './paginated-list.tsx';

/** The rows of a log, below the labels of their columns. */
export function LogList<Row extends { id: string }>({
  list,
  label,
  items,
  empty,
  columns,
  header,
  children,
}: {
  list: Parameters<typeof PaginatedList>[0]['list'] & { rows: readonly Row[] };
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
  return (
    <PaginatedList list={list} items={items} empty={empty} placeholderRows={12}>
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
    </PaginatedList>
  );
}
