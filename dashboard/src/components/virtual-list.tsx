import { type ReactNode, useEffect, useRef, useState } from 'react';

/** Extra rows above and below the visible ones, for smooth scrolling and keyboard navigation. */
const OVERSCAN = 12;

/** A long list of rows with equal height. Only the rows near the viewport are in the document. */
export function VirtualList<T>({
  label,
  rows,
  rowHeight,
  keyOf,
  children,
}: {
  label: string;
  rows: readonly T[];
  rowHeight: number;
  keyOf: (row: T) => string;
  children: (row: T) => ReactNode;
}) {
  const ref = useRef<HTMLUListElement>(null);
  const [{ first, last }, setRange] = useState({ first: 0, last: 40 });
  useEffect(() => {
    const list = ref.current;
    const scroller = list?.closest<HTMLElement>('[data-scroller]');
    if (!list || !scroller) return;
    const measure = (): void => {
      const above = scroller.getBoundingClientRect().top - list.getBoundingClientRect().top;
      const next = {
        first: Math.max(0, Math.floor(above / rowHeight) - OVERSCAN),
        last: Math.ceil((above + scroller.clientHeight) / rowHeight) + OVERSCAN,
      };
      setRange((now) => (now.first === next.first && now.last === next.last ? now : next));
    };
    measure();
    scroller.addEventListener('scroll', measure, { passive: true });
    const resized = new ResizeObserver(measure);
    resized.observe(scroller);
    return () => {
      scroller.removeEventListener('scroll', measure);
      resized.disconnect();
    };
  }, [rowHeight]);
  return (
    <ul
      ref={ref}
      aria-label={label}
      className="relative border-y border-line"
      style={{ height: rows.length * rowHeight }}
    >
      {rows.slice(first, last).map((row, index) => (
        <li
          key={keyOf(row)}
          aria-setsize={rows.length}
          aria-posinset={first + index + 1}
          className="absolute inset-x-0"
          style={{ top: (first + index) * rowHeight, height: rowHeight }}
        >
          {children(row)}
        </li>
      ))}
    </ul>
  );
}
