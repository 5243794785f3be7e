import type { ReactNode, TdHTMLAttributes, ThHTMLAttributes } from 'react';
import { classNames } from './class-names.ts';

/**
 * A table to the edges of the page. On a phone the less important columns (`later`) fall away. Words
 * may break anywhere, or the longest of one row would push the columns of all off the screen.
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

export function Th({
  children,
  later,
  className,
  ...rest
}: ThHTMLAttributes<HTMLTableCellElement> & { later?: boolean }) {
  return (
    <th
      scope="col"
      className={classNames(
        'h-8 border-b border-line bg-sunken px-3 text-left text-xs font-medium whitespace-nowrap text-faint first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6',
        later && 'hidden md:table-cell',
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
}: TdHTMLAttributes<HTMLTableCellElement> & { later?: boolean }) {
  return (
    <td
      className={classNames(
        'h-11 px-3 py-1.5 align-middle wrap-anywhere first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6',
        later && 'hidden md:table-cell',
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
