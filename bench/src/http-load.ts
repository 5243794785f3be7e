import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A client with minimal overhead, because it shares the machine with the server it measures: raw
 * sockets, one request at a time on each, responses recognized by their length alone.
 */

export interface LoadOptions {
  port: number;
  connections: number;
  durationMs: number;
  warmUpMs: number;
  /** Requests per second, at equal intervals; as many as the server answers if undefined. */
  perSecond?: number;
  /** The complete nth request. */
  request: (n: number) => string | Buffer;
}

export interface LoadResult {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  count: number;
  /** All requests, with those of the warm-up and those answered after the end. */
  sent: number;
  /** Responses other than 2xx, by status. */
  failures: Record<string, number>;
}

export async function httpLoad(options: LoadOptions): Promise<LoadResult> {
  await using client = await openClient(options.port, options.connections);
  return await client.run(options);
}

/** Keeps its connections open from one run to the next. */
export interface LoadClient extends AsyncDisposable {
  run(options: Omit<LoadOptions, 'port' | 'connections'>): Promise<LoadResult>;
}

export async function openClient(port: number, count: number): Promise<LoadClient> {
  const connections: Connection[] = [];
  for (let i = 0; i < count; i++) {
    // One after the other, because the server would reject some of them otherwise.
    connections.push(await openConnection(port));
  }
  return {
    run: (options) => run(connections, options),
    async [Symbol.asyncDispose]() {
      for (const { close } of connections) close();
    },
  };
}

async function run(
  connections: readonly Connection[],
  options: Omit<LoadOptions, 'port' | 'connections'>,
): Promise<LoadResult> {
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  const startAt = performance.now() + options.warmUpMs;
  const endAt = startAt + options.durationMs;
  let sent = 0;
  let counted = 0;

  function onAnswer(status: number, sentAt: number): void {
    const now = performance.now();
    if (now < startAt || now > endAt) return;
    if (status >= 200 && status < 300) {
      counted += 1;
      latencies.push(now - sentAt);
    } else {
      failures[status] = (failures[status] ?? 0) + 1;
    }
  }

  const next = () => options.request(sent++);
  const intervalMs =
    options.perSecond === undefined ? 0 : (1000 * connections.length) / options.perSecond;
  await Promise.all(
    connections.map(async (connection, n) => {
      if (intervalMs > 0) await sleep((n * intervalMs) / connections.length);
      await connection.run(next, { intervalMs, endAt }, onAnswer);
    }),
  );
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    perSecond: counted / (options.durationMs / 1000),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    count: counted,
    sent,
    failures,
  };
}

interface Connection {
  /** Sends one request after the other until the end. */
  run(
    next: () => string | Buffer,
    schedule: { intervalMs: number; endAt: number },
    onAnswer: (status: number, sentAt: number) => void,
  ): Promise<void>;
  close(): void;
}

async function openConnection(port: number): Promise<Connection> {
  let received = '';
  let onResponse = (status: number): void =>
    onClose(new Error(`The server answered ${status} before there was a request.`));
  let onClose: (error?: Error) => void;
  const onData = (length: number): boolean => {
    received += READ_INTO.toString('latin1', 0, length);
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd < 0) return true;
    const bodyLength = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
    if (received.length < headEnd + 4 + bodyLength) return true;
    const status = Number(received.slice(9, 12));
    received = '';
    onResponse(status);
    return true;
  };
  const socket = net.connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    // Read in place: a stream of buffers would be a fifth of this client's cost.
    onread: { buffer: READ_INTO, callback: onData },
  });
  await new Promise<void>((resolve, reject) => {
    onClose = (error) => reject(error);
    socket.on('connect', resolve);
    socket.on('error', (error) => onClose(error));
    socket.on('close', () => onClose());
  });
  return {
    run: (next, { intervalMs, endAt }, onAnswer) =>
      new Promise((resolve, reject) => {
        let sentAt = 0;
        let dueAt = performance.now();
        const send = (): void => {
          sentAt = performance.now();
          if (sentAt >= endAt) resolve();
          else socket.write(next());
        };
        onResponse = (status) => {
          onAnswer(status, sentAt);
          dueAt += intervalMs;
          const waitMs = dueAt - performance.now();
          if (waitMs > 0) setTimeout(send, waitMs);
          else send();
        };
        onClose = (error) => (error ? reject(error) : resolve());
        send();
      }),
    close: () => socket.destroy(),
  };
}

/** Shared by all connections, because data is consumed at once. */
const READ_INTO = Buffer.alloc(64 * 1024);

export function postRequest(
  path: string,
  key: string,
  body: string,
  idempotencyKey?: string,
): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
    `${idempotencyKey ? `Idempotency-Key: ${idempotencyKey}\r\n` : ''}\r\n${body}`
  );
}
