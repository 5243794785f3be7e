import { type BenchInfo, type BenchOptions, helpText, readOptions } from './command-line.ts';
import {
  compareResults,
  newResults,
  type Report,
  type Results,
  readResults,
  reportFor,
  writeResults,
} from './results.ts';

/** `npm run bench`: command-line.ts explains its arguments. */

interface Bench extends BenchInfo {
  /** Loaded when it runs, because its settings are read when it is loaded. */
  load(): Promise<(report: Report) => Promise<void>>;
}

const BENCHES: Record<string, Bench> = {
  accept: {
    description: 'Accepting messages, next to the same route without storage.',
    load: async () => (await import('./accept.ts')).benchAccept,
  },
  compat: {
    description: 'CPU time of sends through the APIs of other providers, next to our own.',
    parts: ['resend', 'postmark', 'sendgrid', 'mailgun', 'ses'],
    load: async () => (await import('./compat.ts')).benchCompat,
  },
  cost: {
    description:
      'CPU time and WAL of a message by process and statement, with and without webhooks.',
    parts: ['full', 'paced', 'followers'],
    load: async () => (await import('./cost.ts')).benchCost,
  },
  deliver: {
    description: 'HTTP in, SMTP out, next to Postfix and Haraka where installed.',
    parts: ['rate', 'size', 'far'],
    load: async () => (await import('./deliver.ts')).benchDeliver,
  },
  history: {
    description: 'Accepting and delivering with a million stored or waiting messages.',
    parts: ['accept', 'deliver'],
    load: async () => (await import('./history.ts')).benchHistory,
  },
  idle: {
    description: 'Memory and wake-ups of a server that has nothing to do.',
    load: async () => (await import('./idle.ts')).benchIdle,
  },
  'noisy-neighbor': {
    description: 'What a workspace notices while another one does its worst.',
    parts: [
      'nothing',
      'batches',
      'templates',
      'dry-runs',
      'sends',
      'uploads',
      'blank-lines',
      'large-mail',
      'lists',
    ],
    load: async () => (await import('./noisy-neighbor.ts')).benchNoisyNeighbor,
  },
  scale: {
    description: 'CPU time per message with many workspaces, or many receiving domains.',
    parts: ['workspaces', 'domains'],
    load: async () => (await import('./scale.ts')).benchScale,
  },
  templates: {
    description: 'Sends from templates, next to inline sends, and renders alone.',
    load: async () => (await import('./templates.ts')).benchTemplates,
  },
  webhooks: {
    description: 'Events per second to receivers, their delay, and the cost of a backlog.',
    parts: ['rate', 'delay', 'dead', 'cost', 'backlog'],
    load: async () => (await import('./webhooks.ts')).benchWebhooks,
  },
};

try {
  const options = readOptions(process.argv.slice(2), process.env, BENCHES);
  // Read before the run, which takes minutes.
  const before = options.compare === undefined ? undefined : readBefore(options.compare);
  if (options.help) console.log(helpText(BENCHES));
  else await runBenches(options, before);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function readBefore(file: string): Results {
  try {
    return readResults(file);
  } catch (error) {
    throw new Error(`Cannot compare with ${file}: ${(error as Error).message}.`);
  }
}

async function runBenches(options: BenchOptions, before: Results | undefined): Promise<void> {
  const results = newResults(options.settings);
  for (const name of options.names) {
    console.log(`\n── ${name} ──`);
    const bench = await (BENCHES[name] as Bench).load();
    await bench(reportFor(results, name));
    // After each, so that an interrupted run keeps what it has measured.
    if (options.json !== undefined) writeResults(options.json, results);
  }
  if (before === undefined) return;
  console.log(`\n── compared with ${options.compare} ──`);
  console.log(compareResults(before, results).join('\n'));
}
