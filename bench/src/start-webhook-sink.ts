import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Starts webhook receivers (webhook-sink-main.ts) and reads their counters. */
interface SinkReport {
  received: number;
  delays: number[];
}

export interface WebhookSink extends AsyncDisposable {
  ports: number[];
  request(what: 'count' | 'delays' | 'reset'): Promise<SinkReport>;
  untilReceived(count: number): Promise<void>;
}

export async function startWebhookSink(
  count: number,
  mode: 'respond' | 'hang' = 'respond',
): Promise<WebhookSink> {
  const child = fork(path.join(import.meta.dirname, 'webhook-sink-main.ts'), [String(count), mode]);
  child.setMaxListeners(0);
  const { ports } = await nextMessage<{ ports: number[] }>(child);
  const request = (what: string): Promise<SinkReport> => {
    const response = nextMessage<SinkReport>(child);
    child.send(what);
    return response;
  };
  return {
    ports,
    request,
    async untilReceived(wanted) {
      while ((await request('count')).received < wanted) await sleep(20);
    },
    async [Symbol.asyncDispose]() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await exited;
    },
  };
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`The receiver ended with ${code}`)));
  });
}
