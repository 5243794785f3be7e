/** Reads values and converts them to text. The only file that accesses a caller's values. */

/**
 * Charges for work. A list that contains another list a thousand times, which contains another a
 * thousand times, is short to write but endless to visit, so every access is charged, not every value.
 */
export interface WorkMeter {
  spend(work: number): void;
  /** Charges for characters or items that are read or created, and throws when there are too many. */
  spendOnLength(length: number): void;
}

/** Trusted HTML, written unescaped in HTML text. Only the engine creates it, never a caller's JSON. */
export class SafeHtml {
  readonly html: string;

  constructor(html: string) {
    this.html = html;
  }

  toString(): string {
    return this.html;
  }
}

/** A value that a filter or output cannot use; reported with its path and position. */
export class ValueError extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'ValueError';
  }
}

/** A running loop, and what `forloop` exposes of it. */
export class LoopFrame {
  item: unknown = undefined;
  /** Index of the current iteration. */
  index = 0;
  /** Index of the item in the caller's list, before offset and reversal. */
  sourceIndex = 0;
  readonly length: number;
  /** The list's path, used in reports about its items. */
  readonly listPath: string;
  readonly parent: LoopFrame | undefined;

  constructor(length: number, listPath: string, parent: LoopFrame | undefined) {
    this.length = length;
    this.listPath = listPath;
    this.parent = parent;
  }
}

const DEPTH_MAX = 16;

/**
 * Reads own properties only. Whatever a caller sends, no prototype, method or accessor of a JavaScript
 * built-in is reachable.
 */
export function readProperty(value: unknown, key: unknown, meter: WorkMeter): unknown {
  if (value === null || value === undefined) return undefined;
  if (value instanceof LoopFrame) return readLoop(value, key);
  if (Array.isArray(value)) return readItem(value, key);
  if (typeof value === 'string') return key === 'size' ? value.length : undefined;
  if (value instanceof SafeHtml || typeof value !== 'object') return undefined;
  if (typeof key !== 'string' && typeof key !== 'number') return undefined;
  if (Object.hasOwn(value, key)) {
    const property = (value as Record<string, unknown>)[key];
    return typeof property === 'function' ? undefined : property;
  }
  return key === 'size' ? fieldCount(value, meter) : undefined;
}

function fieldCount(record: object, meter: WorkMeter): number {
  const { length } = Object.keys(record);
  meter.spend(length);
  return length;
}

function readItem(list: readonly unknown[], key: unknown): unknown {
  if (key === 'size') return list.length;
  if (key === 'first') return list[0];
  if (key === 'last') return list.at(-1);
  const index = typeof key === 'string' && /^-?\d{1,9}$/.test(key) ? Number(key) : key;
  return typeof index === 'number' && Number.isInteger(index) ? list.at(index) : undefined;
}

function readLoop(loop: LoopFrame, key: unknown): unknown {
  switch (key) {
    case 'index':
      return loop.index + 1;
    case 'index0':
      return loop.index;
    case 'rindex':
      return loop.length - loop.index;
    case 'rindex0':
      return loop.length - loop.index - 1;
    case 'first':
      return loop.index === 0;
    case 'last':
      return loop.index === loop.length - 1;
    case 'length':
      return loop.length;
    case 'parentloop':
      return loop.parent;
    default:
      return undefined;
  }
}

/** Reads `a.b.c` within a value, for filters such as `map: "address.city"`. */
export function readNested(value: unknown, path: readonly string[], meter: WorkMeter): unknown {
  meter.spend(path.length);
  let current = value;
  for (const key of path) current = readProperty(current, key, meter);
  return current;
}

/** The number of characters, items or fields. */
export function sizeOf(value: unknown, meter: WorkMeter): number {
  if (Array.isArray(value) || typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? fieldCount(value, meter) : 0;
}

/** The text of a value as shown to a reader. Objects have none. */
export function toText(value: unknown, meter: WorkMeter, depth = 0): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return Object.is(value, -0) ? '0' : String(value);
    throw new ValueError('The result is not a number.');
  }
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value === null || value === undefined) return '';
  if (value instanceof SafeHtml) return value.html;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value) && depth < DEPTH_MAX) {
    return joinTexts(value, '', meter, depth + 1);
  }
  throw new ValueError(
    Array.isArray(value) || value instanceof LoopFrame
      ? 'This value cannot be shown as text.'
      : 'This is an object. Use one of its fields.',
  );
}

/** Joins the texts of items. Their total length is charged before they are joined. */
export function joinTexts(
  items: readonly unknown[],
  separator: string,
  meter: WorkMeter,
  depth = 0,
): string {
  meter.spend(items.length);
  const texts = items.map((item) => toText(item, meter, depth));
  meter.spendOnLength(texts.reduce((sum, text) => sum + text.length + separator.length, 0));
  return texts.join(separator);
}

export function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  if (value instanceof SafeHtml) return toNumber(value.html);
  if (typeof value === 'string' && value.trim() !== '') {
    const number = Number(value);
    if (!Number.isNaN(number)) return number;
  }
  throw new ValueError(`${describe(value)} is not a number.`);
}

export function describe(value: unknown): string {
  if (typeof value === 'string') {
    return `"${value.length > 40 ? `${value.slice(0, 40)}…` : value}"`;
  }
  if (Array.isArray(value)) return 'A list';
  if (typeof value === 'object' && value !== null) return 'An object';
  return String(value);
}

/** As in Liquid, only false and nil are falsy. */
export function isTruthy(value: unknown): boolean {
  return value !== false && value !== undefined && value !== null;
}

export function isEmpty(value: unknown, meter: WorkMeter): boolean {
  if (value instanceof SafeHtml) return value.html === '';
  if (typeof value === 'string' || Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && value !== null && fieldCount(value, meter) === 0;
}

export function isBlank(value: unknown, meter: WorkMeter): boolean {
  if (value === false || value === null || value === undefined) return true;
  if (typeof value === 'string') return value.trim() === '';
  return isEmpty(value, meter);
}

export function areEqual(left: unknown, right: unknown, meter: WorkMeter, depth = 0): boolean {
  const a = left instanceof SafeHtml ? left.html : (left ?? null);
  const b = right instanceof SafeHtml ? right.html : (right ?? null);
  // Comparing two strings costs up to their length.
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) {
    meter.spendOnLength(a.length);
  }
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b)) return false;
  if (a.length !== b.length || depth >= DEPTH_MAX) return false;
  meter.spend(a.length);
  return a.every((item, index) => areEqual(item, b[index], meter, depth + 1));
}

/** -1, 0 or 1; undefined when the values cannot be ordered. */
export function compare(left: unknown, right: unknown): -1 | 0 | 1 | undefined {
  const a = comparable(left);
  const b = comparable(right);
  if (a === undefined || b === undefined) return undefined;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  const x = Number(a);
  const y = Number(b);
  if (Number.isNaN(x) || Number.isNaN(y)) return undefined;
  return x < y ? -1 : x > y ? 1 : 0;
}

function comparable(value: unknown): string | number | undefined {
  if (value instanceof SafeHtml) return value.html;
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}
