/** Round axis values from 0 to at least `max`, for the horizontal grid lines. */
export function ticksUpTo(max: number, steps = 3): number[] {
  if (!(max > 0)) return [0, 1];
  const step = roundUp(max / steps);
  const count = Math.ceil(max / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** The next of 1, 2, 2.5, 5 and their multiples of ten. Counts are whole, so 2.5 itself is skipped. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 2.5, 5, 10].map((factor) => factor * power);
  return steps.find((step) => step >= value * 0.999 && Number.isInteger(step)) ?? 1;
}

/**
 * Which positions on the axis are labeled so that labels do not overlap. Of neighbors with the same
 * label, such as the hours of one day, the first is labeled.
 */
export function labeledIndexes(
  labels: readonly string[],
  widthPx: number,
  labelPx: number,
): number[] {
  const minDistance = Math.ceil((labels.length * labelPx) / Math.max(widthPx, 1));
  const indexes: number[] = [];
  for (let index = labels.length - 1; index >= 0; index -= 1) {
    if (labels[index] === labels[index - 1]) continue;
    if (indexes[0] === undefined || indexes[0] - index >= minDistance) indexes.unshift(index);
  }
  return indexes;
}

/** The values without gaps between them, each run with the positions of its values. */
export function runsOf(values: readonly (number | null)[]): { index: number; value: number }[][] {
  const runs: { index: number; value: number }[][] = [];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const last = runs.at(-1);
    if (last && last.at(-1)?.index === index - 1) last.push({ index, value });
    else runs.push([{ index, value }]);
  }
  return runs;
}
