import { setTimeout as sleep } from 'node:timers/promises';
import { callApi } from './api-client.ts';
import type { AppendOnlyLog, Mode } from './log-files.ts';

/**
 * Clients that send one message after another, each through one of the nodes and to recipients of its
 * own. Half of the sends have an Idempotency-Key and are repeated, on another node, until there is a 202,
 * as docs/api.md recommends. The others are sent once. A quarter is in test mode. Of the live ones
 * some recipients are rejected, some deferred, and some messages have two recipients.
 */
export interface ClientOptions {
  urls: readonly string[];
  keys: Readonly<Record<Mode, string>>;
  log: AppendOnlyLog<'clients'>;
  clients: number;
  /** Between two sends of a client. */
  pauseMs: number;
  /** Clients start no new send then, and complete those that they repeat. */
  over: AbortSignal;
  /** The run has failed: nothing is repeated any more. */
  abandoned: AbortSignal;
}

export const SENDER = 'sender.example';
/** Two, so that a message has recipients in both. */
export const RECEIVER_DOMAINS = ['one.example', 'two.example'] as const;

const BACK_OFF_MS = 20;
/** Longer than any outage: a client that gives up is reported as one without an answer. */
const REPEAT_MS = 300_000;

/** Recipients of sends that were answered with 202. */
export async function runClients(options: ClientOptions): Promise<Set<string>> {
  const accepted = new Set<string>();
  const clients = Array.from({ length: options.clients }, (_, client) =>
    runClient(options, client, accepted),
  );
  await Promise.all(clients);
  return accepted;
}

async function runClient(
  options: ClientOptions,
  client: number,
  accepted: Set<string>,
): Promise<void> {
  for (let n = 0; !options.over.aborted; n++) {
    const send = newSend(client, n);
    const isAccepted = await (send.idempotent ? repeat(options, send) : trySend(options, send, 1));
    if (isAccepted) for (const to of send.recipients) accepted.add(to);
    await sleep(isAccepted ? options.pauseMs : backOffMs(options));
  }
}

interface Send {
  name: string;
  client: number;
  mode: Mode;
  idempotent: boolean;
  recipients: string[];
}

function newSend(client: number, n: number): Send {
  const name = `${client}-${n}`;
  const idempotent = n % 2 === 0;
  const [one, two] = RECEIVER_DOMAINS;
  if (n % 8 === 1 || n % 8 === 4) {
    return { name, client, mode: 'test', idempotent, recipients: [`test-${name}@${one}`] };
  }
  const kind = n % 8 === 3 ? 'no' : n % 8 === 6 ? 'later' : 'yes';
  const second = n % 8 === 0 || n % 8 === 7 ? [`yes-${name}@${two}`] : [];
  const recipients = [`${kind}-${name}@${one}`, ...second];
  return { name, client, mode: 'live', idempotent, recipients };
}

async function repeat(options: ClientOptions, send: Send): Promise<boolean> {
  const endsAt = Date.now() + REPEAT_MS;
  for (let attempt = 1; Date.now() < endsAt && !options.abandoned.aborted; attempt++) {
    if (await trySend(options, send, attempt)) return true;
    await sleep(backOffMs(options));
  }
  return false;
}

/** Clients that repeat at once would take the processor time that a recovery needs. */
function backOffMs({ pauseMs }: ClientOptions): number {
  return Math.max(pauseMs, BACK_OFF_MS);
}

async function trySend(options: ClientOptions, send: Send, attempt: number): Promise<boolean> {
  const { log, urls, keys } = options;
  const { name, mode, idempotent, recipients } = send;
  const node = (send.client + attempt) % urls.length;
  log.append({
    at: Date.now(),
    event: 'request',
    send: name,
    try: attempt,
    node,
    mode,
    recipients,
    idempotent,
  });
  const [to, ...bcc] = recipients.map((email) => ({ email }));
  const answer = await callApi(urls[node] as string, keys[mode], 'POST', '/transactional/send', {
    body: {
      to,
      ...(bcc.length > 0 ? { bcc } : {}),
      from: { email: `hello@${SENDER}` },
      subject: `Message ${name}`,
      html: `<p>Message ${name}</p>`,
    },
    ...(idempotent ? { idempotencyKey: name } : {}),
  });
  const about = { at: Date.now(), send: name, try: attempt };
  if (answer instanceof Error) {
    log.append({ ...about, event: 'no_response', error: answer.message });
    return false;
  }
  const { status, json } = answer;
  const { id } = json as { id?: string };
  log.append({ ...about, event: 'response', status, ...(status === 202 && id ? { id } : {}) });
  return status === 202;
}
