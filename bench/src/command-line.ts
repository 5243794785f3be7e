import { parseArgs } from 'node:util';
import { didYouMean } from '../../server/src/lib/did-you-mean.ts';

/** The arguments and environment variables of `npm run bench`. */
export interface BenchOptions {
  help: boolean;
  /** Names of benchmarks; all if empty. */
  names: string[];
  json: string | undefined;
  compare: string | undefined;
  /** The BENCH_ variables that are set. */
  settings: Record<string, string>;
}

export interface BenchInfo {
  description: string;
  /** The values of BENCH_PARTS. */
  parts?: readonly string[];
}

/** Numbers that shorten or lengthen a run. The defaults are in the benchmarks. */
const SETTINGS = {
  BENCH_SECONDS: 'Length of each measurement.',
  BENCH_WARM_UP_SECONDS: 'Time before measuring (compat, cost, deliver, idle, scale).',
  BENCH_ROUNDS:
    'Slices whose median counts (accept, compat, deliver, scale), or measurements of which the best counts (templates, webhooks).',
  BENCH_RATE: 'Messages per second of the paced parts (cost, scale).',
  BENCH_PEER_MESSAGES: 'Messages of a slice that are sent through Postfix and Haraka (deliver).',
  BENCH_FAR_MESSAGES: 'Messages to a distant receiver (deliver).',
  BENCH_HISTORY: 'Stored or waiting messages (history).',
  BENCH_WORKSPACES: 'Workspaces (scale).',
  BENCH_DOMAINS: 'Receiving domains (scale).',
  BENCH_EVENTS: 'Events of each measurement (webhooks).',
  BENCH_BACKLOG: 'Undelivered events (webhooks).',
  BENCH_DEAD_BACKLOG: 'Undelivered events of a dead endpoint (webhooks).',
};
const PARTS = 'BENCH_PARTS';

/** Throws an error whose message is for the user. */
export function readOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  benches: Readonly<Record<string, BenchInfo>>,
): BenchOptions {
  const { values, positionals: names } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      json: { type: 'string' },
      compare: { type: 'string' },
    },
  });
  for (const name of names) {
    if (!Object.hasOwn(benches, name)) throw unknown('benchmark', name, Object.keys(benches));
  }
  const settings = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name.startsWith('BENCH_') && value),
  ) as Record<string, string>;
  const chosen = names.length > 0 ? [...new Set(names)] : Object.keys(benches);
  const parts = chosen.flatMap((name) => benches[name]?.parts ?? []);
  for (const [name, value] of Object.entries(settings)) checkSetting(name, value, parts);
  return { help: values.help, names: chosen, json: values.json, compare: values.compare, settings };
}

function checkSetting(name: string, value: string, parts: readonly string[]): void {
  if (name === PARTS) {
    for (const part of value.split(',')) {
      if (!parts.includes(part)) throw unknown('part', part, parts);
    }
    return;
  }
  if (!Object.hasOwn(SETTINGS, name)) {
    throw unknown('setting', name, [...Object.keys(SETTINGS), PARTS]);
  }
  if (!(Number(value) > 0)) throw new Error(`${name}: "${value}" is not a positive number.`);
}

function unknown(kind: string, name: string, known: readonly string[]): Error {
  const hint = didYouMean(name, known);
  const rest = hint ? `Did you mean ${hint}?` : `Known are: ${known.join(', ')}.`;
  return new Error(`Unknown ${kind} ${name}. ${rest}`);
}

export function helpText(benches: Readonly<Record<string, BenchInfo>>): string {
  const table = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, text]) => `  ${name.padEnd(22)} ${text}`).join('\n');
  const parts = Object.entries(benches).flatMap(([name, { parts: own }]) =>
    own ? [`${name}: ${own.join(', ')}`] : [],
  );
  return `Usage: npm run bench -- [NAME…] [--json FILE] [--compare FILE]

Runs all benchmarks, or those named. Client, server and database share the machine, so compare
ratios within one run, and figures of two runs only on the same idle machine.

Benchmarks:
${table(Object.entries(benches).map(([name, { description }]) => [name, description]))}

Options:
${table([
  ['--json FILE', 'Write the results to a file.'],
  ['--compare FILE', 'Compare the results with a file that --json wrote.'],
  ['-h, --help', 'Print this text.'],
])}

Environment variables:
${table([
  ...Object.entries(SETTINGS),
  [PARTS, `Parts to run, separated by commas (${parts.join('; ')}).`],
])}`;
}
