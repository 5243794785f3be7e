import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Receivers of webhooks in a process of their own (webhook-sink.ts), and what they were sent so far. */
interface SinkReport {
  received: number;
  delays: number[];
}

export interface Sink extends AsyncDisposable {
  ports: number[];
  ask(what: 'count' | 'delays' | 'forget'): Promise<SinkReport>;
  untilReceived(count: number): Promise<void>;
}

export async function startSink(count: number, mode: 'answer' | 'hang' = 'answer'): Promise<Sink> {
  const child = fork(path.join(import.meta.dirname, 'webhook-sink.ts'), [String(count), mode]);
  child.setMaxListeners(0);
  const { ports } = await messageOf<{ ports: number[] }>(child);
  const ask = (what: string): Promise<SinkReport> => {
    const answer = messageOf<SinkReport>(child);
    child.send(what);
    return answer;
  };
  return {
    ports,
    ask,
    async untilReceived(wanted) {
      while ((await ask('count')).received < wanted) await sleep(20);
    },
    async [Symbol.asyncDispose]() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await gone;
    },
  };
}

function messageOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`The receiver ended with ${code}`)));
  });
}
