import { httpLoad, type LoadResult, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { startTarget, type TargetKind } from './start-target.ts';

/**
 * How fast messages are accepted: by the server, by a server without the request log, by the same route
 * without storage, and with one transaction per request, alternating within one run. Only the ratios
 * are meaningful, because client, server and database share the machine.
 */

const CONNECTIONS = 64;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 5) * 1000;
const KINDS: TargetKind[] = ['grouped', 'no-request-log', 'no-storage', 'one-transaction-each'];

export async function benchAccept(report: Report): Promise<void> {
  const best = new Map<TargetKind, LoadResult>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of KINDS) {
      const result = await measure(kind);
      const before = best.get(kind);
      if (!before || result.perSecond > before.perSecond) best.set(kind, result);
    }
  }
  for (const kind of KINDS) {
    const { perSecond, p50Ms, p99Ms, failures } = best.get(kind) as LoadResult;
    const failed = Object.keys(failures).length > 0 ? `failures ${JSON.stringify(failures)}` : '';
    report(kind, { 'requests/s': perSecond, 'p50 ms': p50Ms, 'p99 ms': p99Ms }, failed);
  }
  const rate = (kind: TargetKind): number => best.get(kind)?.perSecond ?? 0;
  for (const other of ['no-request-log', 'no-storage', 'one-transaction-each'] as const)
    report(`grouped / ${other}`, { times: rate('grouped') / rate(other) });
}

async function measure(kind: TargetKind): Promise<LoadResult> {
  await using target = await startTarget(kind, { env: { ROLES: 'api' } });
  const body = JSON.stringify(sampleSend('jane@example.com'));
  // Awaited here, because the target is stopped at the end of this block.
  return await httpLoad({
    port: target.port,
    connections: CONNECTIONS,
    durationMs: DURATION_MS,
    // V8 has compiled the whole path after about ten thousand requests.
    warmUpMs: 6_000,
    request: (n) => postRequest('/api/v1/transactional/send', target.key, body, `bench-${n}`),
  });
}
