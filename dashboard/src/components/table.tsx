import type { ReactNode, TdHTMLAttributes, ThHTMLAttributes } from 'react';
import { classNames } from '../lib/class-names.ts';

/**
 * A full-width table. `hideBelow` drops less important columns on narrow windows. Cell text may wrap
 * anywhere, because one long word would otherwise push other columns off the screen; the first
 * column, which identifies the row, keeps a minimum width.
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

type Breakpoint = 'md' | 'xl';

const HIDDEN_BELOW: Record<Breakpoint, string> = {
  md: 'hidden md:table-cell',
  xl: 'hidden xl:table-cell',
};

export function Th({
  children,
  hideBelow,
  className,
  ...rest
}: ThHTMLAttributes<HTMLTableCellElement> & { hideBelow?: Breakpoint }) {
  return (
    <th
      scope="col"
      className={classNames(
        'h-8 border-b border-line bg-sunken px-3 text-left text-xs font-medium whitespace-nowrap text-faint first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6',
        hideBelow && HIDDEN_BELOW[hideBelow],
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
  hideBelow,
  narrow,
  className,
  ...rest
}: TdHTMLAttributes<HTMLTableCellElement> & {
  hideBelow?: Breakpoint;
  /** A first column that does not identify the row, such as a checkbox. */
  narrow?: boolean;
}) {
  return (
    <td
      className={classNames(
        'h-11 px-3 py-1.5 align-middle wrap-anywhere first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6',
        narrow ? 'w-px' : 'first:min-w-36 sm:first:min-w-52',
        hideBelow && HIDDEN_BELOW[hideBelow],
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
