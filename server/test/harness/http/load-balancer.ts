import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A load balancer in front of several nodes: round robin over those whose `/readyz` is 200, with
 * connections that are kept open. It never repeats a request, so every failure is visible.
 */
export interface LoadBalancer extends AsyncDisposable {
  url: string;
  /** Requests that no node answered, with the reason. */
  readonly failures: string[];
}

const CHECK_INTERVAL_MS = 50;

export async function startLoadBalancer(nodes: readonly string[]): Promise<LoadBalancer> {
  const agent = new http.Agent({ keepAlive: true });
  const failures: string[] = [];
  const over = new AbortController();
  let ready: string[] = [];
  let turn = 0;
  const checks = nodes.map(async (node) => {
    while (!over.signal.aborted) {
      const isReady = await fetch(`${node}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
      ready = nodes.filter((one) => (one === node ? isReady : ready.includes(one)));
      await sleep(CHECK_INTERVAL_MS);
    }
  });
  const server = http.createServer((request, response) => {
    const fail = (reason: string): void => {
      failures.push(reason);
      response.writeHead(502).end();
    };
    const node = ready[turn++ % ready.length];
    if (node === undefined) return fail('no node is ready');
    const { method, headers } = request;
    const options = { method, headers, agent };
    const forwarded = http.request(new URL(request.url ?? '/', node), options, (answer) => {
      response.writeHead(answer.statusCode ?? 502);
      answer.pipe(response);
    });
    forwarded.on('error', (error) => fail(String(error)));
    return void request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(checks);
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
