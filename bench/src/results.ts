import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/**
 * The results of a run: printed line by line as they are measured, and collected for a JSON file that
 * a later run is compared with.
 */

/** A value by its unit, which may have a label before it: `requests/s`, `p50 ms`. */
export type Figures = Readonly<Record<string, number>>;

export interface Results {
  startedAt: string;
  machine: { cpu: string; cores: number; node: string };
  /** The BENCH_ variables that were set. */
  settings: Readonly<Record<string, string>>;
  /** By benchmark and line. */
  figures: Record<string, Record<string, Figures>>;
}

export function newResults(settings: Results['settings']): Results {
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
  };
  return { startedAt: new Date().toISOString(), machine, settings, figures: {} };
}

export type Report = (line: string, figures: Figures, note?: string) => void;

const LINE_WIDTH = 44;

/** The report of one benchmark. A note is printed and not kept. */
export function reportFor(results: Results, bench: string): Report {
  const lines: Record<string, Figures> = {};
  results.figures[bench] = lines;
  return (line, figures, note = '') => {
    lines[line] = figures;
    const values = Object.entries(figures).map(([unit, value]) => describe(unit, format(value)));
    console.log([line.padEnd(LINE_WIDTH), ...values, note].join('   ').trimEnd());
  };
}

function describe(unit: string, value: string): string {
  const [label, own] = unit.split(' ');
  return own === undefined ? `${value.padStart(7)} ${unit}` : `${label} ${value} ${own}`;
}

function format(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export function writeResults(file: string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

export function readResults(file: string): Results {
  const results = JSON.parse(readFileSync(file, 'utf8')) as Results;
  if (typeof results?.figures !== 'object') throw new Error('it contains no figures');
  return results;
}

/** Lines of text: each figure that both runs have, with its change in percent. */
export function compareResults(before: Results, after: Results): string[] {
  const lines = differences(before, after);
  for (const [bench, rows] of Object.entries(after.figures)) {
    for (const [line, figures] of Object.entries(rows)) {
      for (const [unit, now] of Object.entries(figures)) {
        const then = before.figures[bench]?.[line]?.[unit];
        if (then === undefined) continue;
        const values = [format(then), format(now)].map((value) => value.padStart(9));
        const name = `${bench}: ${line}`.padEnd(LINE_WIDTH + 16);
        lines.push(`${name}${values.join('')} ${unit.padEnd(12)} ${change(then, now)}`.trimEnd());
      }
    }
  }
  return lines;
}

/** Whatever makes two runs hard to compare. */
function differences(before: Results, after: Results): string[] {
  const same = (key: 'machine' | 'settings') =>
    JSON.stringify(before[key]) === JSON.stringify(after[key]);
  return (['machine', 'settings'] as const)
    .filter((key) => !same(key))
    .map(
      (key) =>
        `Not the same ${key}: ${JSON.stringify(before[key])} before, ${JSON.stringify(after[key])} now.`,
    );
}

function change(before: number, now: number): string {
  if (before === 0) return '';
  const percent = (now / before - 1) * 100;
  return `${percent >= 0 ? '+' : ''}${percent.toFixed(1)} %`;
}
