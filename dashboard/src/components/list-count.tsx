import { formatNumber } from '../lib/format.ts';

/**
 * How many rows a list has. Counting a whole history would cost more than showing it, so a list that
 * is not loaded to its end has "100+" rows.
 */
export function ListCount({
  rows,
  hasNextPage,
  one,
  many = `${one}s`,
}: {
  rows: readonly unknown[];
  hasNextPage: boolean;
  one: string;
  many?: string;
}) {
  if (rows.length === 0) return null;
  const isOne = rows.length === 1 && !hasNextPage;
  return (
    <p className="ml-auto text-xs whitespace-nowrap text-faint tabular-nums">
      {formatNumber(rows.length)}
      {hasNextPage && '+'} {isOne ? one : many}
    </p>
  );
}
