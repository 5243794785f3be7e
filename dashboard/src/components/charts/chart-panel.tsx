import { ChartColumn, Table2 } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { classNames } from '../../lib/class-names.ts';
import { Section } from '../page.tsx';

/** One data series of a chart. */
export interface Series {
  name: string;
  /** The name of a CSS custom property. */
  color: string;
  values: readonly (number | null)[];
  total?: string;
}

export interface Axis {
  /** Labels of the steps: short for the axis, long for the tooltip. */
  short: readonly string[];
  long: readonly string[];
}

/** The frame of a chart: title, legend, and the same data as an accessible table. */
export function ChartPanel({
  title,
  description,
  summary,
  series,
  axis,
  format,
  rowLabel,
  children,
}: {
  title: string;
  description?: ReactNode;
  /** The chart summarized in a sentence, for screen readers. */
  summary: string;
  series: readonly Series[];
  axis: Axis;
  format: (value: number) => string;
  /** The header of the table's first column. */
  rowLabel: string;
  children: ReactNode;
}) {
  const [asTable, setAsTable] = useState(false);
  return (
    <Section
      title={title}
      description={description}
      className="min-w-0"
      actions={
        <fieldset className="flex gap-0.5">
          <legend className="sr-only">View of {title}</legend>
          <ViewButton on={!asTable} label="Chart" onClick={() => setAsTable(false)}>
            <ChartColumn className="size-3.5" aria-hidden />
          </ViewButton>
          <ViewButton on={asTable} label="Table" onClick={() => setAsTable(true)}>
            <Table2 className="size-3.5" aria-hidden />
          </ViewButton>
        </fieldset>
      }
    >
      <ul className="mb-3 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
        {series.map(({ name, color, total }) => (
          <li key={name} className="flex items-center gap-1.5">
            <Swatch color={color} />
            {name}
            {total !== undefined && <span className="font-medium text-ink">{total}</span>}
          </li>
        ))}
      </ul>
      {asTable ? (
        <ChartTable title={title} rowLabel={rowLabel} series={series} axis={axis} format={format} />
      ) : (
        <figure aria-label={summary}>{children}</figure>
      )}
    </Section>
  );
}

function ViewButton({
  on,
  label,
  onClick,
  children,
}: {
  on: boolean;
  label: string;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-pressed={on}
      aria-label={label}
      title={label}
      onClick={onClick}
      className={classNames(
        'inline-flex size-7 items-center justify-center rounded-md transition-colors',
        on ? 'bg-accent-wash text-accent-ink' : 'text-faint hover:bg-sunken hover:text-ink',
      )}
    >
      {children}
    </button>
  );
}

function Swatch({ color }: { color: string }) {
  return (
    <svg viewBox="0 0 8 8" className="size-2 shrink-0" aria-hidden>
      <rect width="8" height="8" rx="2" fill={`var(${color})`} />
    </svg>
  );
}

function ChartTable({
  title,
  rowLabel,
  series,
  axis,
  format,
}: {
  title: string;
  rowLabel: string;
  series: readonly Series[];
  axis: Axis;
  format: (value: number) => string;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll container must be reachable by keyboard.
    <section aria-label={`${title}, table`} tabIndex={0} className="max-h-64 overflow-auto">
      <table className="w-full border-collapse text-xs tabular-nums">
        <thead>
          <tr className="sticky top-0 bg-panel text-faint">
            <th scope="col" className="py-1 pr-3 text-left font-medium">
              {rowLabel}
            </th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className="py-1 pl-3 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {axis.long.map((name, index) => (
            <tr key={name} className="border-t border-line">
              <th scope="row" className="py-1 pr-3 text-left font-normal whitespace-nowrap">
                {name}
              </th>
              {series.map(({ name: of, values }) => {
                const value = values[index] ?? null;
                return (
                  <td key={of} className="py-1 pl-3 text-right">
                    {value === null ? <span className="text-faint">–</span> : format(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The available width, so that SVG text has the same size as other text. */
export function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const resized = new ResizeObserver(() => setWidth(element.clientWidth));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  return [ref, width];
}

/** The values at the pointer. */
export function ChartTooltip({
  at,
  width,
  name,
  lines,
}: {
  /** Distance from the left, in pixels. */
  at: number;
  width: number;
  name: string;
  lines: readonly { name: string; color: string; text: string }[];
}) {
  const id = useId();
  const onLeft = at > width / 2;
  return (
    <div
      id={id}
      className={classNames(
        'pointer-events-none absolute top-0 z-10 rounded-lg border border-line bg-raised px-3 py-2 text-xs shadow-pop',
        onLeft && '-translate-x-full',
      )}
      style={{ left: onLeft ? at - 10 : at + 10 }}
    >
      <p className="mb-1 font-medium whitespace-nowrap">{name}</p>
      <dl className="grid grid-cols-[auto_1fr_auto] items-center gap-x-2 gap-y-0.5">
        {lines.map((line) => (
          <div key={line.name} className="contents">
            <Swatch color={line.color} />
            <dt className="whitespace-nowrap text-soft">{line.name}</dt>
            <dd className="pl-3 text-right font-medium whitespace-nowrap tabular-nums">
              {line.text}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
