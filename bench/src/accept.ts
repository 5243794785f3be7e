import { alternate, type Contestant } from './alternate.ts';
import { openClient, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { startTarget, type TargetKind } from './start-target.ts';

/**
 * How fast messages are accepted: by the server, by a server without the request log, by the same route
 * without storage, and with one transaction per request, in alternating slices. Only the ratios are
 * meaningful, because client, server and database share the machine.
 */

const CONNECTIONS = 64;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 5) * 1000;
const KINDS: TargetKind[] = ['grouped', 'no-request-log', 'no-storage', 'one-transaction-each'];
/** V8 has compiled the whole path after about ten thousand requests. */
const WARM_UP_MS = 6_000;
/** Code grows cold while others are measured. */
const SLICE_WARM_UP_MS = 2_000;

export async function benchAccept(report: Report): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const contestants: Contestant[] = [];
  for (const kind of KINDS) contestants.push(await contestantOf(servers, kind));
  const contest = await alternate(contestants, ROUNDS);
  for (const kind of KINDS) report(kind, contest.slice(kind));
  for (const other of KINDS.slice(1)) {
    const times = contest.ratio(['grouped', 'requests/s'], [other, 'requests/s']);
    report(`grouped / ${other}`, { times });
  }
}

async function contestantOf(servers: AsyncDisposableStack, kind: TargetKind): Promise<Contestant> {
  const target = servers.use(await startTarget(kind, { env: { ROLES: 'api' } }));
  const client = servers.use(await openClient(target.port, CONNECTIONS));
  const body = JSON.stringify(sampleSend('jane@example.com'));
  let sent = 0;
  const request = (): string =>
    postRequest('/api/v1/transactional/send', target.key, body, `bench-${sent++}`);
  await client.run({ durationMs: 0, warmUpMs: WARM_UP_MS, request });
  return {
    name: kind,
    async slice() {
      const { perSecond, p50Ms, p99Ms, failures } = await client.run({
        durationMs: DURATION_MS,
        warmUpMs: SLICE_WARM_UP_MS,
        request,
      });
      if (Object.keys(failures).length > 0) console.log(kind, 'failures', failures);
      return { 'requests/s': perSecond, 'p50 ms': p50Ms, 'p99 ms': p99Ms };
    },
  };
}
