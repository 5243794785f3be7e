import { randomInt } from 'node:crypto';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { didYouMean } from '../../src/lib/did-you-mean.ts';
import { FAILURES, type FailureKind } from './failure-schedule.ts';
import { SETUPS, type Setup } from './installation.ts';
import type { ProveOptions } from './prove.ts';

/** The arguments of `npm run prove`. */
export type ProveCommand =
  | { action: 'help' }
  | { action: 'check'; folder: string }
  | { action: 'run'; options: ProveOptions };

const SEED_MAX = 2 ** 31;
const DEFAULTS = { failures: 100, nodes: 3, clients: 8 };

/** Throws an error whose message is for the user. */
export function readCommand(args: readonly string[], startedAtMs: number): ProveCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      failures: { type: 'string' },
      seed: { type: 'string' },
      setup: { type: 'string' },
      nodes: { type: 'string' },
      clients: { type: 'string' },
      kinds: { type: 'string' },
      'small-disk': { type: 'string' },
      out: { type: 'string' },
      check: { type: 'string' },
    },
  });
  if (values.help) return { action: 'help' };
  if (values.check !== undefined) return { action: 'check', folder: values.check };
  const stamp = new Date(startedAtMs).toISOString().slice(0, 19).replaceAll(/[:T-]/g, '');
  const setup = oneOf('setup', values.setup ?? 'nodes', SETUPS) as Setup;
  const kinds = values.kinds
    ?.split(',')
    .map((kind) => oneOf('kind', kind, FAILURES) as FailureKind);
  return {
    action: 'run',
    options: {
      seed: wholeNumber('--seed', values.seed, 0) ?? randomInt(SEED_MAX),
      failures: wholeNumber('--failures', values.failures, 0) ?? DEFAULTS.failures,
      setup,
      nodes: wholeNumber('--nodes', values.nodes, 1) ?? DEFAULTS.nodes,
      clients: wholeNumber('--clients', values.clients, 1) ?? DEFAULTS.clients,
      kinds,
      // The logs of a long run have to fit the checker's memory.
      sendPauseMs: 100,
      pauseMaxMs: 1_500,
      holdMaxMs: 60_000,
      settleMs: 15_000,
      smallDisk: values['small-disk'],
      out: path.resolve(values.out ?? path.join('results', `prove-${stamp}`)),
    },
  };
}

function wholeNumber(name: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= min) return value;
  throw new Error(`${name}: "${text}" is not a whole number of at least ${min}.`);
}

function oneOf(what: string, name: string, known: Readonly<Record<string, string>>): string {
  if (Object.hasOwn(known, name)) return name;
  const hint = didYouMean(name, Object.keys(known));
  const rest = hint ? `Did you mean ${hint}?` : `Known are: ${Object.keys(known).join(', ')}.`;
  throw new Error(`Unknown ${what} ${name}. ${rest}`);
}

export function helpText(): string {
  const table = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, text]) => `  ${name.padEnd(18)} ${text}`).join('\n');
  return `Usage: npm run prove -- [OPTIONS]

Starts real servers, sends through them, makes them fail, and accounts for every message from the logs
of the clients and the receiver. Ends with a report, and with exit code 1 if a guarantee was broken.

Options:
${table([
  ['--failures N', `How many failures (${DEFAULTS.failures}).`],
  ['--seed N', 'Repeats the schedule of an earlier run (random).'],
  ['--setup NAME', 'One of the setups below (nodes).'],
  ['--nodes N', `Servers (${DEFAULTS.nodes}).`],
  ['--clients N', `Clients that send at the same time (${DEFAULTS.clients}).`],
  ['--kinds A,B', 'Only these failures (all that are possible here).'],
  ['--small-disk DIR', 'An empty folder on a file system of at most 4 GiB, which is filled.'],
  ['--out DIR', 'Folder of the logs and the report (results/prove-TIME).'],
  ['--check DIR', 'Only check the logs of an earlier run.'],
  ['-h, --help', 'Print this text.'],
])}

Setups:
${table(Object.entries(SETUPS))}

Failures:
${table(Object.entries(FAILURES))}`;
}
