import { fork } from 'node:child_process';
import path from 'node:path';

/** Starts an SMTP sink (smtp-sink-main.ts) and reads its counters. */
export interface Sink extends AsyncDisposable {
  port: number;
  pid: number;
  count(): Promise<Taken>;
}

export interface Taken {
  received: number;
  /** When the last message was received, in milliseconds since the epoch. */
  lastAt: number;
}

export async function startSink(host = '127.0.0.1'): Promise<Sink> {
  const child = fork(path.join(import.meta.dirname, 'smtp-sink-main.ts'), [host]);
  const response = <T>(): Promise<T> =>
    new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
  const { port } = await response<{ port: number }>();
  return {
    port,
    pid: child.pid as number,
    count() {
      const counted = response<Taken>();
      child.send('count');
      return counted;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
    },
  };
}

/** Waits until no message has arrived for a second. */
export async function settled(sink: Sink): Promise<Taken> {
  for (let last = await sink.count(); ; ) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = await sink.count();
    if (now.received === last.received) return now;
    last = now;
  }
}

/** Messages per second that reached the sink, from now until no more arrive. */
export async function rateOf(sink: Sink, work: () => Promise<unknown>): Promise<number> {
  const before = (await sink.count()).received;
  const startedAt = now();
  await work();
  const { received, lastAt } = await settled(sink);
  return (received - before) / ((lastAt - startedAt) / 1000);
}

/** The median time from acceptance to the sink's final dot, one message at a time. */
export async function lowLoadMs(sink: Sink, hand: () => Promise<number>): Promise<number> {
  const delays: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = (await sink.count()).received;
    const acceptedAt = await hand();
    let seen = await sink.count();
    while (seen.received === before) seen = await sink.count();
    delays.push(seen.lastAt - acceptedAt);
  }
  return delays.toSorted((a, b) => a - b)[10] as number;
}

/** The same clock as the sink's, with higher resolution than Date.now(). */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
