import { createHmacSha256 } from '../../lib/crypto/hmac.ts';
import { VERSION } from '../../version.ts';
import { formatSecret, newSecret, signedHeaders } from '../../webhooks/requests/sign-webhook.ts';
import type { ApiEvent } from '../api/api-client.ts';
import { requireApi } from '../api/choose-target.ts';
import { eventLine } from '../api/event-line.ts';
import { type Command, UsageError } from '../command.ts';
import { countOption } from '../count-option.ts';
import { lines, paint, render, styled } from '../terminal.ts';

const TIMEOUT_MS = 15_000;

export const webhooksListen: Command = {
  name: 'webhooks listen',
  summary: 'Forward events to a program on this machine, signed like webhooks.',
  details:
    'For development: no public URL and no webhook endpoint are needed. Each event is sent once, in ' +
    'order, with the body and the headers of a webhook delivery, and the response is printed. The ' +
    'secret is new for every run unless you give one. With --json, each line is one delivery. ' +
    'Ctrl-C ends it.',
  target: 'api',
  arguments: [{ name: 'URL', description: 'Where to send events: a URL, or a port of localhost.' }],
  options: {
    type: { value: 'LIST', description: 'Only these types: message.bounced, or message.*.' },
    secret: { value: 'SECRET', description: 'The secret to sign with (whsec_…).' },
    limit: { value: 'N', description: 'Exit after this number of events.' },
  },
  run: async (input) => {
    const url = parseTarget(input.arguments[0] ?? '');
    const secret = parseSecret(input.option('secret'));
    const limit = countOption(input, 'limit');
    const json = input.flag('json');
    const { client } = await requireApi(input);
    const events = await client.events({ type: input.option('type') });
    const introduction = { forwarding_to: url.href, secret: formatSecret(secret) };
    const text = lines([
      `Forwarding events to ${url.href}`,
      styled`Signing secret: ${paint('bold', introduction.secret)}`,
    ]);
    console.log(json ? JSON.stringify(introduction) : render(text, process.stdout));
    let count = 0;
    for await (const event of events) {
      const result = await forward(url, event, secret);
      console.log(
        json ? JSON.stringify(result) : render(resultLine(event, result), process.stdout),
      );
      count += 1;
      if (count === limit) break;
    }
    return 0;
  },
};

interface Forwarded {
  event_id: string;
  type: string;
  /** Null: no response. */
  status: number | null;
  error: string | null;
  duration_ms: number;
}

async function forward(url: URL, event: ApiEvent, secret: Buffer): Promise<Forwarded> {
  const body = Buffer.from(JSON.stringify(event));
  const startedAtMs = Date.now();
  const done = (status: number | null, error: string | null): Forwarded => ({
    event_id: event.id,
    type: event.type,
    status,
    error,
    duration_ms: Date.now() - startedAtMs,
  });
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'user-agent': `Postrider/${VERSION}`,
        ...signedHeaders(event.id, startedAtMs, body, [createHmacSha256(secret)]),
      },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return done(response.status, null);
  } catch (error) {
    const { message, cause } = error as Error;
    return done(null, (cause as NodeJS.ErrnoException | undefined)?.code ?? message);
  }
}

function resultLine(event: ApiEvent, { status, error, duration_ms }: Forwarded) {
  const isDelivered = status !== null && status < 300;
  const response = status === null ? `no response: ${error}` : `${status} in ${duration_ms} ms`;
  return styled`${eventLine(event)}  → ${paint(isDelivered ? 'green' : 'red', response)}`;
}

/** `3000`, `localhost:3000/hook` or a whole URL. */
function parseTarget(text: string): URL {
  const url = /^[0-9]+$/.test(text)
    ? `http://localhost:${text}`
    : /^https?:\/\//i.test(text)
      ? text
      : `http://${text}`;
  if (URL.canParse(url)) return new URL(url);
  throw new UsageError(
    `URL must be a URL or a port, such as 3000 or localhost:3000/hook, not "${text}".`,
  );
}

function parseSecret(text: string | undefined): Buffer {
  if (text === undefined) return newSecret();
  const bytes = Buffer.from(text.replace(/^whsec_/, ''), 'base64');
  // The standard requires 24 to 64 bytes.
  if (text.startsWith('whsec_') && bytes.length >= 24 && bytes.length <= 64) return bytes;
  throw new UsageError('--secret must be whsec_ followed by 24 to 64 bytes in Base64.');
}
