import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '../../../src/delivery/delivery.ts';
import type { EngineLimits } from '../../../src/delivery/engine-limits.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { parseTranscript } from '../../../src/mail/smtp-client/transcript.ts';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import {
  type DeliveryState,
  deliveriesOf,
  type EventState,
  enqueue,
  eventsOf,
  newWorkspace,
  type QueuedMessage,
} from '../database/enqueue-messages.ts';
import { type Script, type ScriptedDnsServer, startDnsServer } from '../smtp/dns-server.ts';
import {
  type ReceiverScript,
  type SmtpReceiver,
  startSmtpReceiver,
} from '../smtp/smtp-receiver.ts';
import { startEngine, type TestEngine, until } from './delivery-engine.ts';
import { expectDeliveredUnchanged } from './expect-delivered-unchanged.ts';
import { type SignedRouteOptions, signedLiveRoute } from './signed-live-route.ts';

/**
 * A complete delivery setup: the queue in PostgreSQL, the engine, DNS, SMTP receivers on loopback
 * addresses, and a manual clock that advances while a test waits. By default example.org has the given
 * receivers as mx1, mx2, … in order of preference. On disposal, every message that any receiver got is
 * verified and compared with the queued message.
 */
export interface DeliverySetupOptions extends Partial<Omit<SignedRouteOptions, 'clock' | 'dns'>> {
  receivers?: ReceiverScript[];
  dns?: Script;
  limits?: Partial<EngineLimits>;
  /** Creates the transport of live mail, if it is not a single route. */
  createLive?: (options: SignedRouteOptions, database: TestDatabase) => Transport;
  /** Receivers started by the test, such as relays: their messages are verified too. */
  additionalReceivers?: SmtpReceiver[];
}

export interface DeliverySetup extends AsyncDisposable {
  clock: ManualClock;
  database: TestDatabase;
  workspaceId: string;
  /** The first receiver. */
  receiver: SmtpReceiver;
  receivers: SmtpReceiver[];
  dns: ScriptedDnsServer;
  node: TestEngine;
  send(message?: Partial<QueuedMessage>): Promise<string>;
  /** Advances the clock until every recipient has the status (by default, any final status). */
  waitForStatus(id: string, status?: string, stepMs?: number): Promise<DeliveryState[]>;
  until(check: () => Promise<boolean> | boolean, stepMs?: number): Promise<void>;
  /** Like `waitForStatus`, but skips the time between attempts. */
  waitForFinalStatus(id: string): Promise<DeliveryState>;
  events(): Promise<EventState[]>;
  attempts(id: string): Promise<AttemptState[]>;
}

export interface AttemptState {
  number: number;
  outcome: string;
  started_at: number;
  finished_at: number;
  bounce: { class: string; reason: string; explanation: string } | null;
  smtp: {
    code: number | null;
    enhanced: string | null;
    text: string;
    mx: string;
    tls: string;
  } | null;
  /** All lines as `client: …` or `server: …`. */
  transcript: string;
}

export const MX_HOSTS = ['mx1.example.test', 'mx2.example.test', 'mx3.example.test'];

export async function setUpDelivery(options: DeliverySetupOptions = {}): Promise<DeliverySetup> {
  const clock = new ManualClock(systemClock.now());
  const database = await createTestDatabase();
  const receivers = await startReceivers(options.receivers ?? [{}]);
  const receiver = receivers[0] as SmtpReceiver;
  const dns = await startDnsServer({ ...domainOf(receivers), ...options.dns });
  const workspaceId = await newWorkspace(database.pool, clock.now());
  const liveOptions = { mxPort: receiver.port, ...options, clock, dns: dns.address };
  const live = options.createLive?.(liveOptions, database) ?? signedLiveRoute(liveOptions);
  const limits = options.limits ? { limits: options.limits } : {};
  const node = startEngine({ url: database.url, clock, live, ...limits });
  const { pool } = database;
  const queued = new Map<string, QueuedMessage>();
  const waitFor: DeliverySetup['until'] = (check, stepMs = 1_000) =>
    until(check, { clock, stepMs });
  return {
    clock,
    database,
    workspaceId,
    receiver,
    receivers,
    dns,
    node,
    until: waitFor,
    async send(message = {}) {
      const meant = {
        workspaceId,
        nowMs: clock.now(),
        recipients: ['jane@example.org'],
        ...message,
      };
      const [id] = (await enqueue(pool, [meant])) as [string];
      queued.set(id, meant);
      node.engine.wake();
      return id;
    },
    async waitForStatus(id, status, stepMs) {
      let states: DeliveryState[] = [];
      await waitFor(async () => {
        states = await deliveriesOf(pool, id);
        return states.every((state) =>
          status ? state.status === status : state.finished_at !== null,
        );
      }, stepMs);
      return states;
    },
    async waitForFinalStatus(id) {
      for (;;) {
        const [state] = (await deliveriesOf(pool, id)) as [DeliveryState];
        if (state.finished_at !== null) return state;
        const restsMs = state.lease === null ? (state.due_at ?? 0) - clock.now() : 0;
        clock.advance(Math.max(restsMs, 100));
        await sleep(10);
      }
    },
    events: () => eventsOf(pool, workspaceId),
    attempts: (id) => attemptsOf(database, id),
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      for (const one of receivers) await one.close();
      await dns[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      const arrived = [...receivers, ...(options.additionalReceivers ?? [])].flatMap(
        ({ messages }) => messages,
      );
      await expectDeliveredUnchanged(arrived, queued);
    },
  };
}

async function startReceivers(scripts: ReceiverScript[]): Promise<SmtpReceiver[]> {
  const started: SmtpReceiver[] = [];
  for (const [index, script] of scripts.entries()) {
    const port = started[0]?.port;
    const host = `127.0.0.${index + 1}`;
    started.push(await startSmtpReceiver({ host, ...(port ? { port } : {}), ...script }));
  }
  return started;
}

function domainOf(receivers: SmtpReceiver[]): Script {
  const script: Script = {
    'example.org': { MX: receivers.map((_, n) => `${(n + 1) * 10} ${MX_HOSTS[n]}`) },
  };
  for (const [n, receiver] of receivers.entries()) {
    script[MX_HOSTS[n] as string] = { A: [receiver.host] };
  }
  return script;
}

async function attemptsOf({ pool }: TestDatabase, id: string): Promise<AttemptState[]> {
  const { rows } = await pool.query<AttemptState & { transcript: string | null }>(
    `select number, outcome, started_at, finished_at, bounce, smtp, transcript
       from attempts where message_id = $1 order by ordinal, number`,
    [id],
  );
  return rows.map(({ transcript, ...attempt }) => ({
    ...attempt,
    transcript: parseTranscript(transcript ?? '')
      .lines.map(({ by, text }) => `${by}: ${text}`)
      .join('\n'),
  }));
}
