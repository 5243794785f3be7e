import { formatCompact, formatNumber } from '../../lib/format.ts';
import { ChartArea } from './chart-area.tsx';
import type { Axis, Series } from './chart-panel.tsx';
import { ticksUpTo } from './scale.ts';

const GAP_SHARE = 0.28;
const MAX_BAR_PX = 28;

/** Stacked counts over time, the first series at the bottom. */
export function StackedBarChart({ series, axis }: { series: readonly Series[]; axis: Axis }) {
  const sums = axis.short.map((_, index) =>
    series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  return (
    <ChartArea
      series={series}
      axis={axis}
      ticks={ticksUpTo(Math.max(0, ...sums))}
      format={formatCompact}
      exact={formatNumber}
    >
      {({ stepPx, x, y, chosen }) => {
        const width = Math.max(1.5, Math.min(MAX_BAR_PX, stepPx * (1 - GAP_SHARE)));
        return (
          <>
            {chosen !== undefined && (
              <rect
                x={x(chosen) - stepPx / 2}
                y={y(0) - (y(0) - 8)}
                width={stepPx}
                height={y(0) - 8}
                fill="var(--line)"
                opacity={0.5}
              />
            )}
            {axis.short.map((_, index) => {
              let below = 0;
              return series.map(({ name, color, values }) => {
                const value = values[index] ?? 0;
                if (value === 0) return null;
                const bottom = y(below);
                below += value;
                // Keep even a very small share visible.
                const height = Math.max(1.5, bottom - y(below));
                return (
                  <rect
                    key={`${name} ${axis.long[index]}`}
                    x={x(index) - width / 2}
                    y={bottom - height}
                    width={width}
                    height={height}
                    rx={Math.min(1.5, width / 4)}
                    fill={`var(${color})`}
                  />
                );
              });
            })}
          </>
        );
      }}
    </ChartArea>
  );
}
