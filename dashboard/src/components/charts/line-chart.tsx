import { ChartArea } from './chart-area.tsx';
import type { Axis, Series } from './chart-panel.tsx';
import { runsOf, ticksUpTo } from './scale.ts';

/** Values over time. A line connects neighbors only: where there is no value, there is a gap. */
export function LineChart({
  series,
  axis,
  format,
}: {
  series: readonly Series[];
  axis: Axis;
  format: (value: number) => string;
}) {
  const max = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  return (
    <ChartArea series={series} axis={axis} ticks={ticksUpTo(max)} format={format}>
      {({ x, y, chosen }) => (
        <>
          {chosen !== undefined && (
            <line x1={x(chosen)} x2={x(chosen)} y1={8} y2={y(0)} stroke="var(--line-strong)" />
          )}
          {series.map(({ name, color, values }) => {
            const lines = runsOf(values).map((run) =>
              run.map(({ index, value }) => [x(index), y(value)] as const),
            );
            const value = chosen === undefined ? null : (values[chosen] ?? null);
            return (
              <g key={name}>
                {lines.map((points) =>
                  points.length === 1 ? (
                    <circle
                      key={String(points[0])}
                      cx={points[0]?.[0]}
                      cy={points[0]?.[1]}
                      r={2.5}
                      fill={`var(${color})`}
                    />
                  ) : (
                    <polyline
                      key={String(points[0])}
                      points={points.join(' ')}
                      fill="none"
                      stroke={`var(${color})`}
                      strokeWidth={1.75}
                      strokeLinejoin="round"
                      strokeLinecap="round"
                    />
                  ),
                )}
                {chosen !== undefined && value !== null && (
                  <circle
                    cx={x(chosen)}
                    cy={y(value)}
                    r={3.5}
                    fill={`var(${color})`}
                    stroke="var(--panel)"
                    strokeWidth={1.5}
                  />
                )}
              </g>
            );
          })}
        </>
      )}
    </ChartArea>
  );
}
