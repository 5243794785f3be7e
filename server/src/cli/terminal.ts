import { stripVTControlCharacters, styleText } from 'node:util';
import { systemClock } from '../lib/time/clock.ts';

/**
 * Text for the terminal. Tenants and their DNS zones control much of what commands print, and it must
 * not control the user's terminal: control characters are replaced before anything is colored. Colors
 * appear on a terminal only, and NO_COLOR and `--no-color` turn them off.
 */

export type Color = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Text in one color. */
export interface Painted {
  text: string;
  color: Color;
}

/** Text with colored parts. */
export class Screen {
  readonly parts: readonly (string | Painted)[];

  constructor(parts: readonly (string | Painted)[]) {
    this.parts = parts;
  }
}

export type Piece = string | Painted | Screen;

export function paint(color: Color, text: string): Painted {
  return { color, text };
}

/** A text template with colored values. */
export function styled(strings: TemplateStringsArray, ...values: readonly Piece[]): Screen {
  return new Screen(strings.flatMap((text, index) => [text, ...partsOf(values[index] ?? '')]));
}

/** One piece per line. */
export function lines(pieces: readonly Piece[]): Screen {
  return new Screen(
    pieces.flatMap((piece, index) => [...(index > 0 ? ['\n'] : []), ...partsOf(piece)]),
  );
}

/** The text as a stream shows it. */
export function render(piece: Piece, stream: NodeJS.WriteStream): string {
  return partsOf(piece)
    .map((part) =>
      typeof part === 'string'
        ? replaceControls(part)
        : colored(part.color, replaceControls(part.text), stream),
    )
    .join('');
}

function partsOf(piece: Piece): readonly (string | Painted)[] {
  return piece instanceof Screen ? piece.parts : [piece];
}

function replaceControls(text: string): string {
  return text.replace(/(?!\r\n)[^\P{Cc}\n\t]/gu, '\ufffd');
}

let colorsDisabled = false;

/** For `--no-color`. NO_COLOR and the kind of stream are checked for each text. */
export function disableColors(): void {
  colorsDisabled = true;
}

function colored(color: Color, text: string, stream: NodeJS.WriteStream): string {
  return colorsDisabled || text === '' ? text : styleText(color, text, { stream });
}

const GOOD = new Set(['active', 'delivered', 'ok', 'trusted', 'verified']);
const BAD = new Set(['bounced', 'complained', 'expired', 'failed', 'revoked', 'suspended']);

/** A state in the color of its meaning. */
export function paintState(state: string): Painted {
  const [word = ''] = state.split(' ');
  return paint(GOOD.has(word) ? 'green' : BAD.has(word) ? 'red' : 'yellow', state);
}

const GAP = '  ';
/** Below this, a shortened cell says nothing. */
const SHORTENED_MIN = 8;

/**
 * A table that fits the terminal: if it is too wide, the widest columns are shortened, but never
 * states, nor the first column, which has the id. Output to a file or a pipe is not shortened.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly (string | Painted)[])[],
  width: number | undefined = process.stdout.isTTY ? process.stdout.columns : undefined,
): Screen {
  const head = heading.map((text) => paint('bold', text));
  const cells = [head, ...rows].map((row) => row.map(cellOf));
  const widths = heading.map((_, index) => Math.max(...cells.map((row) => lengthOf(row[index]))));
  // States and other colored words are short and say most.
  const isKept = (index: number) =>
    index === 0 || cells.slice(1).some((row) => row[index]?.color !== undefined);
  if (width !== undefined) shrink(widths, width, isKept);
  return lines(
    cells.map((row) => new Screen(row.flatMap((_, index) => padded(row, index, widths)))),
  );
}

interface Cell {
  text: string;
  color: Color | undefined;
}

/** A line break in a name would look like a separate row. */
function cellOf(cell: string | Painted): Cell {
  const { text, color } = typeof cell === 'string' ? { text: cell, color: undefined } : cell;
  return { text: text.replace(/\p{Cc}/gu, '\ufffd'), color };
}

/** A cell and the space after it; no line ends with spaces. */
function padded(
  row: readonly Cell[],
  index: number,
  widths: readonly number[],
): (string | Painted)[] {
  const { text: whole = '', color } = row[index] ?? {};
  const text = shorten(whole, widths[index] ?? 0);
  const isLast = row.slice(index + 1).every((cell) => cell.text === '');
  const space = isLast ? '' : ' '.repeat((widths[index] ?? 0) - [...text].length) + GAP;
  return [color === undefined ? text : paint(color, text), space];
}

function lengthOf(cell: Cell | undefined): number {
  return cell === undefined ? 0 : [...cell.text].length;
}

function shrink(widths: number[], available: number, isKept: (index: number) => boolean): void {
  let excess =
    widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - available;
  while (excess > 0) {
    const widest = Math.max(0, ...widths.filter((_, index) => !isKept(index)));
    if (widest <= SHORTENED_MIN) return;
    const index = widths.findLastIndex((width, index) => width === widest && !isKept(index));
    widths[index] = widest - 1;
    excess -= 1;
  }
}

function shorten(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** A time of the API, short enough for a table. */
export function shortTime(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')}Z`;
}

const AGES: [unit: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];
const AGE_MAX_MS = 30 * 86_400_000;

/** A time in a table: on a terminal, where space is scarce, how long ago it was. */
export function listTime(
  iso: string,
  nowMs: number = systemClock.now(),
  isTerminal: boolean = process.stdout.isTTY === true,
): string {
  if (!isTerminal) return shortTime(iso);
  const ageMs = nowMs - Date.parse(iso);
  if (Math.abs(ageMs) >= AGE_MAX_MS) return iso.slice(0, 10);
  const [unit, unitMs] = AGES.find(([, ms]) => Math.abs(ageMs) >= ms) ?? ['s', 1_000];
  const amount = `${Math.floor(Math.abs(ageMs) / unitMs)}${unit}`;
  return ageMs < 0 ? `in ${amount}` : `${amount} ago`;
}

/** What a long command is doing, in one line of a terminal that the next line replaces. */
export class Progress implements Disposable {
  readonly #isShown: boolean;

  constructor({ json }: { json: boolean }) {
    this.#isShown = process.stderr.isTTY === true && !json;
  }

  update(text: string): void {
    if (this.#isShown) process.stderr.write(`\r\x1b[K${stripVTControlCharacters(text)}`);
  }

  [Symbol.dispose](): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
  }
}
