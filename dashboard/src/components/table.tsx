import type { ReactNode, TdHTMLAttributes, ThHTMLAttributes } from 'react';
import { classNames } from '../lib/class-names.ts';

/**
 * A table to the edges of the page. On a phone the less important columns (`later`) fall away, and
 * those that are `much` so on anything smaller than a wide window. Words may break anywhere, or the
 * longest of one row would push the columns of all off the screen; the first column, which says what
 * the row is, keeps room for an address.
 */
export function Table({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="overflow-x-auto border-y border-line">
      <table className="w-full border-collapse text-sm" aria-label={label}>
        {children}
      </table>
    </div>
  );
}

type Later = boolean | 'much';

function shownFrom(later: Later | undefined): string {
  if (later === 'much') return 'hidden xl:table-cell';
  return later ? 'hidden md:table-cell' : '';
}

export function Th({
  children,
  later,
  className,
  ...rest
}: ThHTMLAttributes<HTMLTableCellElement> & { later?: Later }) {
  return (
    <th
      scope="col"
      className={classNames(
        'h-8 border-b border-line bg-sunken px-3 text-left text-xs font-medium whitespace-nowrap text-faint first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6',
        shownFrom(later),
        className,
      )}
      {...rest}
    >
      {children}
    </th>
  );
}

export function Td({
  children,
  later,
  className,
  ...rest
}: TdHTMLAttributes<HTMLTableCellElement> & { later?: Later }) {
  return (
    <td
      className={classNames(
        'h-11 px-3 py-1.5 align-middle wrap-anywhere first:min-w-36 first:pl-4 last:pr-4 sm:first:min-w-52 sm:first:pl-6 sm:last:pr-6',
        shownFrom(later),
        className,
      )}
      {...rest}
    >
      {children}
    </td>
  );
}

export function Tr({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <tr
      className={classNames(
        'border-b border-line transition-colors last:border-b-0 hover:bg-sunken',
        className,
      )}
    >
      {children}
    </tr>
  );
}
