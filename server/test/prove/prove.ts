import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runPostrider } from '../harness/cli-process.ts';
import { checkLogs, type Logs } from './check-logs.ts';
import { installEarlierVersion } from './earlier-version.ts';
import {
  type FailureKind,
  JUMP_MAX_MS,
  type PlannedFailure,
  planFailures,
  seededRandom,
} from './failure-schedule.ts';
import { FeedFollower, readStatistics, readWholeFeed } from './feed-reader.ts';
import { type Installation, type Setup, startInstallation } from './installation.ts';
import { runClients, SENDER } from './load-clients.ts';
import { AppendOnlyLog, type Mode, readLog } from './log-files.ts';
import { startLoggingReceiver } from './logging-receiver.ts';
import { type Report, reportOf, toMarkdown } from './report.ts';
import { startUpgrade } from './rolling-upgrade.ts';

/**
 * Runs real servers under load, makes them and their database fail by a seeded schedule, and accounts
 * for every message from logs that the clients and the receiver wrote. The tests of the gate and
 * `npm run prove` run the same code; they differ in these options.
 */
export interface ProveOptions {
  seed: number;
  failures: number;
  /** No more failures after this time, even if there were fewer. */
  minutes?: number | undefined;
  setup: Setup;
  nodes: number;
  clients: number;
  /** All that are possible here if undefined. One that is listed twice occurs twice as often. */
  kinds: readonly FailureKind[] | undefined;
  /** Between two sends of a client. */
  sendPauseMs: number;
  pauseMaxMs: number;
  holdMaxMs: number;
  /** How long to wait for stray copies after the last outcome. */
  settleMs: number;
  /** Gets the logs and the report. */
  out: string;
  smallDisk?: string | undefined;
  /** Replaces servers of this version, a commit or a package file, instead of causing failures. */
  upgradeFrom?: string | undefined;
  progress?: (line: string) => void;
}

/** Short, so that failures hit retries and expired leases too. */
const SETTINGS = {
  LEASE_SECONDS: '10',
  RETRY_FIRST_SECONDS: '1',
  RETRY_LONGEST_MINUTES: '1',
};
/** Readers are part of the load, and no heavier than the clients. */
const FEED_POLL_MS = 100;
/** Without an event for this long, what is missing is lost: longer than a lease and a retry. */
const STILL_MS = JUMP_MAX_MS + 120_000;

export async function prove(options: ProveOptions): Promise<Report> {
  const startedAt = new Date().toISOString();
  await mkdir(options.out, { recursive: true });
  const scratch = await mkdtemp(path.join(tmpdir(), 'postrider-prove-'));
  try {
    const { postgres, skipped } = await run(options, scratch);
    const report = reportOf(
      {
        seed: options.seed,
        setup: options.setup,
        nodes: options.setup === 'single' ? 1 : options.nodes,
        postgres,
        clients: options.clients,
        startedAt,
        endedAt: new Date().toISOString(),
        skipped,
        upgradeFrom: options.upgradeFrom,
      },
      checkLogs(readLogs(options.out)),
    );
    await writeFile(path.join(options.out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    await writeFile(path.join(options.out, 'report.md'), toMarkdown(report));
    return report;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

export function readLogs(folder: string): Logs {
  return {
    clients: readLog(folder, 'clients'),
    receiver: readLog(folder, 'receiver'),
    failures: readLog(folder, 'failures'),
    feed: readLog(folder, 'feed'),
    statistics: readLog(folder, 'statistics'),
  };
}

async function run(
  options: ProveOptions,
  scratch: string,
): Promise<Pick<Installation, 'postgres' | 'skipped'>> {
  const { out, progress = () => {} } = options;
  using clientLog = new AppendOnlyLog(out, 'clients');
  using receiverLog = new AppendOnlyLog(out, 'receiver');
  using failureLog = new AppendOnlyLog(out, 'failures');
  using feedLog = new AppendOnlyLog(out, 'feed');
  using statisticsLog = new AppendOnlyLog(out, 'statistics');
  await using receiver = await startLoggingReceiver(receiverLog, seededRandom(options.seed));
  const env = { ...SETTINGS, ...receiver.env };
  await using installation = await install(options, scratch, env);
  const keys = await createKeys(installation);
  const { urls } = installation;
  const abandoned = new AbortController();
  const reader = {
    urls,
    keys,
    log: feedLog,
    pollMs: Math.max(FEED_POLL_MS, options.sendPauseMs),
    abandoned: abandoned.signal,
  };
  const feed = new FeedFollower(reader);
  const over = new AbortController();
  const clients = runClients({
    urls,
    keys,
    log: clientLog,
    clients: options.clients,
    pauseMs: options.sendPauseMs,
    over: over.signal,
    abandoned: abandoned.signal,
  });
  // Awaited below, after the failures.
  clients.catch(() => {});

  try {
    const plan = planFailures({ ...options, count: options.failures, kinds: installation.kinds });
    const endsAt = Date.now() + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
    for (const failure of plan) {
      if (Date.now() > endsAt) break;
      await sleep(failure.pauseMs);
      progress(`${failure.number} of ${plan.length}: ${failure.kind}`);
      await cause(installation, failure, failureLog);
    }
    over.abort();
    progress('Waiting until every message has an outcome.');
    await untilAllEnded(await clients, feed);
    await sleep(options.settleMs);
    // In this order, so that the follower has to have seen all that the second reader finds.
    await readWholeFeed(reader);
    await feed.stop();
    await readStatistics(reader, statisticsLog, feed.endedByMode);
    await installation.stop();
    return installation;
  } finally {
    over.abort();
    abandoned.abort();
  }
}

async function install(
  options: ProveOptions,
  scratch: string,
  env: Record<string, string>,
): Promise<Installation> {
  const { setup, nodes, kinds, smallDisk, upgradeFrom, progress = () => {} } = options;
  if (upgradeFrom === undefined) {
    return startInstallation({ setup, nodes, kinds, scratch, smallDisk, env });
  }
  progress(`Installing ${upgradeFrom}.`);
  return startUpgrade({ nodes, scratch, env }, await installEarlierVersion(upgradeFrom, scratch));
}

async function cause(
  installation: Installation,
  failure: PlannedFailure,
  log: AppendOnlyLog<'failures'>,
): Promise<void> {
  const { number, kind } = failure;
  log.append({ at: Date.now(), event: 'begin', number, kind, detail: '' });
  const detail = await installation.cause(failure);
  log.append({ at: Date.now(), event: 'end', number, kind, detail });
}

async function createKeys(installation: Installation): Promise<Record<Mode, string>> {
  const scopes = 'send:transactional,read:messages,read:events';
  const create = async (mode: Mode): Promise<string> => {
    const args = ['keys', 'create', '--mode', mode, '--scopes', scopes, '--json'];
    return (JSON.parse(await command(args, installation)) as { token: string }).token;
  };
  const [live, test] = await Promise.all([
    create('live'),
    create('test'),
    command(['domains', 'add', SENDER, '--trust', '--json'], installation),
  ]);
  return { live, test };
}

async function command(
  args: readonly string[],
  { commandEnv: env, commandMain: main }: Installation,
): Promise<string> {
  const options = { env, ...(main === undefined ? {} : { main }) };
  const { code, stdout, stderr } = await runPostrider(args, options);
  if (code !== 0) throw new Error(`postrider ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

/** What was accepted, and what exists without a 202. The checker reports what is still missing. */
async function untilAllEnded(accepted: ReadonlySet<string>, feed: FeedFollower): Promise<void> {
  const startedAt = Date.now();
  for (;;) {
    const isMissing = (to: string): boolean => !feed.ended.has(to);
    if (![...accepted].some(isMissing) && ![...feed.stored].some(isMissing)) return;
    if (Date.now() - Math.max(startedAt, feed.lastEventAt) > STILL_MS) return;
    await sleep(200);
  }
}
