/** The arithmetic of plots: where a value stands, and which values the axis names. */

/** Round values from 0 to at least `max`, for the horizontal lines. */
export function ticksUpTo(max: number, wanted = 3): number[] {
  if (!(max > 0)) return [0, 1];
  const step = roundUp(max / wanted);
  const count = Math.ceil(max / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** 1, 2, 2.5 or 5 and its multiples of ten; counts have no halves. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 2.5, 5, 10].map((factor) => factor * power);
  return steps.find((step) => step >= value * 0.999 && Number.isInteger(step)) ?? 1;
}

/**
 * Which of many places on the axis get their name, so that names do not touch. Of neighbours with the
 * same name, the hours of a day, the first has it.
 */
export function labeledIndexes(names: readonly string[], widthPx: number, namePx: number): number[] {
  const apart = Math.ceil((names.length * namePx) / Math.max(widthPx, 1));
  const places: number[] = [];
  for (let place = names.length - 1; place >= 0; place -= 1) {
    if (names[place] === names[place - 1]) continue;
    if (places[0] === undefined || places[0] - place >= apart) places.unshift(place);
  }
  return places;
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function formatCompact(value: number): string {
  return short.format(value);
}

/** 431 ms, 1.2 s, 3 min: as exact as anybody wants to know. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  if (ms < 90_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 5_400_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 129_600_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}
