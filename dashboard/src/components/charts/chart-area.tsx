import { type PointerEvent, type ReactNode, useState } from 'react';
import { type Axis, ChartTooltip, type Series, useWidth } from './chart-panel.tsx';
import { labeledIndexes } from './scale.ts';

const LEFT = 44;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 22;
const LABEL_PX = 76;

export interface ChartGeometry {
  /** The width of one step on the x axis. */
  stepPx: number;
  x: (index: number) => number;
  y: (value: number) => number;
  /** The index under the pointer. */
  chosen: number | undefined;
}

/** The shared part of charts: grid lines, axis labels and the tooltip. */
export function ChartArea({
  axis,
  series,
  ticks,
  format,
  exact = format,
  height = 200,
  children,
}: {
  axis: Axis;
  series: readonly Series[];
  ticks: readonly number[];
  /** Formats axis values; `exact` formats tooltip values. */
  format: (value: number) => string;
  exact?: (value: number) => string;
  height?: number;
  children: (drawing: ChartGeometry) => ReactNode;
}) {
  const [ref, width] = useWidth();
  const [chosen, setChosen] = useState<number>();
  const count = axis.short.length;
  const inner = Math.max(0, width - LEFT - RIGHT);
  const stepPx = count === 0 ? 0 : inner / count;
  const top = ticks.at(-1) ?? 1;
  const x = (index: number) => LEFT + (index + 0.5) * stepPx;
  const y = (value: number) => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const index = Math.floor(
      (event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT) / stepPx,
    );
    setChosen(index >= 0 && index < count ? index : undefined);
  };
  return (
    <div ref={ref} className="relative" style={{ height }}>
      {width > 0 && (
        <svg
          width={width}
          height={height}
          aria-hidden
          onPointerMove={point}
          onPointerLeave={() => setChosen(undefined)}
          // Its box follows a narrower window even before the chart is drawn again.
          className="block max-w-full touch-pan-y"
        >
          {ticks.map((tick) => (
            <g key={tick}>
              <line
                x1={LEFT}
                x2={width - RIGHT}
                y1={y(tick)}
                y2={y(tick)}
                stroke={tick === 0 ? 'var(--line-strong)' : 'var(--line)'}
              />
              <text
                x={LEFT - 8}
                y={y(tick)}
                dy="0.32em"
                textAnchor="end"
                className="fill-faint text-2xs tabular-nums"
              >
                {format(tick)}
              </text>
            </g>
          ))}
          {labeledIndexes(axis.short, inner, LABEL_PX).map((index) => (
            <text
              key={index}
              x={Math.min(x(index), width - RIGHT - 18)}
              y={height - 5}
              textAnchor="middle"
              className="fill-faint text-2xs tabular-nums"
            >
              {axis.short[index]}
            </text>
          ))}
          {children({ stepPx, x, y, chosen })}
        </svg>
      )}
      {series.every(({ values }) => values.every((value) => !value)) && (
        <p className="absolute inset-0 flex items-center justify-center pb-4 pl-10 text-sm text-faint">
          No data in this period
        </p>
      )}
      {chosen !== undefined && (
        <ChartTooltip
          at={x(chosen)}
          width={width}
          name={axis.long[chosen] ?? ''}
          lines={series.map(({ name, color, values }) => {
            const value = values[chosen] ?? null;
            return { name, color, text: value === null ? '–' : exact(value) };
          })}
        />
      )}
    </div>
  );
}
