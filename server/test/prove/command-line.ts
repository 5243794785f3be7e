import { randomInt } from 'node:crypto';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { didYouMean } from '../../src/lib/did-you-mean.ts';
import { UPGRADE } from './check-logs.ts';
import { FAILURES, type FailureKind } from './failure-schedule.ts';
import { SETUPS, type Setup } from './installation.ts';
import type { ProveOptions } from './prove.ts';

/** The arguments of `npm run prove`. */
export type ProveCommand =
  | { action: 'help' }
  | { action: 'check'; folder: string }
  | { action: 'run'; options: ProveOptions };

const SEED_MAX = 2 ** 31;
const DEFAULTS = {
  failures: 100,
  nodes: 3,
  clients: 8,
  // The logs of a long run have to fit the checker's memory.
  sendPauseMs: 100,
  pauseMaxMs: 1_500,
};

/** Throws an error whose message is for the user. */
export function readCommand(args: readonly string[], startedAtMs: number): ProveCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      failures: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      setup: { type: 'string' },
      nodes: { type: 'string' },
      clients: { type: 'string' },
      kinds: { type: 'string' },
      'pause-max': { type: 'string' },
      'hold-max': { type: 'string' },
      'send-pause': { type: 'string' },
      'small-disk': { type: 'string' },
      'upgrade-from': { type: 'string' },
      out: { type: 'string' },
      check: { type: 'string' },
    },
  });
  if (values.help) return { action: 'help' };
  if (values.check !== undefined) return { action: 'check', folder: values.check };
  const stamp = new Date(startedAtMs).toISOString().slice(0, 19).replaceAll(/[:T-]/g, '');
  const setup = oneOf('setup', values.setup ?? 'nodes', SETUPS) as Setup;
  const number = (name: NumericOption, min: number) => wholeNumber(`--${name}`, values[name], min);
  const options: ProveOptions = {
    seed: number('seed', 0) ?? randomInt(SEED_MAX),
    failures: number('failures', 0) ?? DEFAULTS.failures,
    minutes: number('minutes', 1),
    setup,
    nodes: number('nodes', 1) ?? DEFAULTS.nodes,
    clients: number('clients', 1) ?? DEFAULTS.clients,
    kinds: values.kinds?.split(',').flatMap(repeatedKind),
    sendPauseMs: number('send-pause', 0) ?? DEFAULTS.sendPauseMs,
    pauseMaxMs: number('pause-max', 0) ?? DEFAULTS.pauseMaxMs,
    holdMaxMs: number('hold-max', 0) ?? Number.POSITIVE_INFINITY,
    settleMs: 15_000,
    smallDisk: values['small-disk'],
    out: path.resolve(values.out ?? path.join('results', `prove-${stamp}`)),
  };
  const upgradeFrom = values['upgrade-from'];
  if (upgradeFrom === undefined) return { action: 'run', options };
  for (const name of NOT_WITH_UPGRADE) {
    if (values[name] === undefined) continue;
    throw new Error(`--upgrade-from cannot be combined with --${name}.`);
  }
  const nodes = number('nodes', 2) ?? UPGRADE_DEFAULTS.nodes;
  const pauseMaxMs = number('pause-max', 0) ?? UPGRADE_DEFAULTS.pauseMaxMs;
  const upgrade = { upgradeFrom, nodes, failures: nodes, pauseMaxMs, kinds: [UPGRADE] as const };
  return { action: 'run', options: { ...options, ...upgrade } };
}

type NumericOption =
  | 'seed'
  | 'failures'
  | 'minutes'
  | 'nodes'
  | 'clients'
  | 'send-pause'
  | 'pause-max'
  | 'hold-max';

/** These are about failures, and an upgrade has a load balancer and one PostgreSQL. */
const NOT_WITH_UPGRADE = ['failures', 'minutes', 'setup', 'kinds', 'small-disk'] as const;
/** Long enough pauses for each mixture of versions to be under load. */
const UPGRADE_DEFAULTS = { nodes: 2, pauseMaxMs: 8_000 };

/** `backend-kill:3` occurs three times as often as a kind without a number. */
function repeatedKind(text: string): FailureKind[] {
  const [name = '', times] = text.split(':');
  const kind = oneOf('kind', name, FAILURES) as FailureKind;
  return new Array(wholeNumber('--kinds', times, 1) ?? 1).fill(kind);
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
  ['--minutes N', 'Cause no more failures after this time (no limit).'],
  ['--seed N', 'Repeats the schedule of an earlier run (random).'],
  ['--setup NAME', 'One of the setups below (nodes).'],
  ['--nodes N', `Servers (${DEFAULTS.nodes}).`],
  ['--clients N', `Clients that send at the same time (${DEFAULTS.clients}).`],
  [
    '--kinds A,B:3',
    'Only these failures, B three times as often as A (all that are possible here).',
  ],
  ['--pause-max MS', `Longest pause between two failures (${DEFAULTS.pauseMaxMs}).`],
  ['--hold-max MS', 'Longest time for which a failure lasts (several seconds, by kind).'],
  ['--send-pause MS', `Pause of a client between two sends (${DEFAULTS.sendPauseMs}).`],
  ['--small-disk DIR', 'An empty folder on a file system of at most 4 GiB, which is filled.'],
  [
    '--upgrade-from V',
    'No failures: upgrade servers of V, a commit or a package (.tgz), to this version.',
  ],
  ['--out DIR', 'Folder of the logs and the report (results/prove-TIME).'],
  ['--check DIR', 'Only check the logs of an earlier run.'],
  ['-h, --help', 'Print this text.'],
])}

Setups:
${table(Object.entries(SETUPS))}

Failures:
${table(Object.entries(FAILURES))}`;
}
