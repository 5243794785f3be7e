const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB'];

export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), BYTE_UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount.toFixed(power === 0 || amount >= 10 ? 0 : 1)} ${BYTE_UNITS[power]}`;
}

const numberFormat = new Intl.NumberFormat('en');
const compactFormat = new Intl.NumberFormat('en', {
  notation: 'compact',
  maximumFractionDigits: 1,
});

export function formatNumber(amount: number): string {
  return numberFormat.format(amount);
}

/** 1,200 becomes 1.2K. */
export function formatCompact(value: number): string {
  return compactFormat.format(value);
}

/** A number with its noun: "1 message", "2 messages". */
export function formatCount(amount: number, one: string, many = `${one}s`): string {
  return `${numberFormat.format(amount)} ${amount === 1 ? one : many}`;
}

/** A rounded duration for charts: 431 ms, 1.2 s, 3 min. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  if (ms < 90_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 5_400_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 129_600_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

const DURATION_UNITS: [string, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** A configured duration, in the largest unit that divides it: 3 days, but 90 minutes. */
export function formatWholeDuration(ms: number): string {
  const [unit, size] = DURATION_UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? [
    'second',
    1_000,
  ];
  return formatCount(Math.max(1, Math.round(ms / size)), unit);
}

/** Indents JSON; returns any other text unchanged. */
export function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
