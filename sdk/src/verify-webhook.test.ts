import { createContext, runInContext } from 'node:vm';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from './index.ts';

const SECRET = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('another, of an older time').toString('base64')}`;
const BODY = JSON.stringify({ id: 'evt_1', type: 'message.delivered', data: { name: 'Zoë ✉' } });
const NOW = new Date(Date.UTC(2026, 10, 15, 12));
const options = { nowMs: NOW.getTime() };

/** Signed with the reference library of Standard Webhooks. */
function headersOf(secret: string = SECRET, at: Date = NOW, body: string = BODY) {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  };
}

async function refused(verifying: Promise<unknown>, why: string | RegExp): Promise<void> {
  await expect(verifying).rejects.toThrow(why);
  await expect(verifying).rejects.toBeInstanceOf(WebhookVerificationError);
}

test('accepts what the reference library signs, with every kind of body and headers', async () => {
  const headers = headersOf();
  const bytes = new TextEncoder().encode(BODY);
  const inNode = { ...headers, cookie: ['a', 'b'], nothing: undefined };
  const inCapitals = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
  for (const body of [BODY, bytes, Buffer.from(BODY), bytes.buffer]) {
    for (const form of [headers, new Headers(headers), inNode, inCapitals]) {
      expect(await verifyWebhook(body, form, SECRET, options)).toEqual(JSON.parse(BODY));
    }
  }
});

test('accepts buffers from another realm and header arrays', async () => {
  const headers = headersOf();
  const elsewhere = createContext({ bytes: [...Buffer.from(BODY)] });
  const foreign = (code: string) => runInContext(code, elsewhere);
  const bodies = [
    foreign('new Uint8Array(bytes)'),
    foreign('new Uint8Array(bytes).buffer'),
    foreign('new Uint8Array([0, ...bytes, 0]).subarray(1, -1)'),
  ];
  const map = new Map(Object.entries(headers));
  const ofPolyfill = { get: (name: string) => map.get(name.toLowerCase()) ?? null };
  const listed = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value]]),
  );
  for (const body of bodies) {
    for (const form of [ofPolyfill, listed]) {
      expect(await verifyWebhook(body, form, SECRET, options)).toEqual(JSON.parse(BODY));
    }
  }
  await refused(verifyWebhook(BODY, { get: () => null }, SECRET, options), 'webhook-id is missing');
});

test('accepts secrets without prefix or with a trailing newline, and several secrets', async () => {
  const bare = SECRET.slice('whsec_'.length);
  expect(await verifyWebhook(BODY, headersOf(), bare, options)).toMatchObject({ id: 'evt_1' });
  const line = ` ${SECRET}\n`;
  expect(await verifyWebhook(BODY, headersOf(), line, options)).toMatchObject({ id: 'evt_1' });
  const both = [OTHER, SECRET];
  expect(await verifyWebhook(BODY, headersOf(), both, options)).toMatchObject({ id: 'evt_1' });
  expect(await verifyWebhook(BODY, headersOf(OTHER), both, options)).toMatchObject({ id: 'evt_1' });
});

test('accepts one valid signature among others', async () => {
  const good = headersOf()['webhook-signature'];
  const old = headersOf(OTHER)['webhook-signature'];
  const signature = `v1a,AAAA v1,not*base64 ${old} ${good}`;
  const headers = { ...headersOf(), 'webhook-signature': signature };
  expect(await verifyWebhook(BODY, headers, SECRET, options)).toMatchObject({ id: 'evt_1' });
});

test('rejects modified bodies and signatures of other secrets', async () => {
  const headers = headersOf();
  const why = 'No signature';
  await refused(verifyWebhook(`${BODY} `, headers, SECRET, options), why);
  await refused(verifyWebhook(BODY, headersOf(OTHER), SECRET, options), why);
  await refused(verifyWebhook(BODY, { ...headers, 'webhook-id': 'evt_2' }, SECRET, options), why);
  const timestamp = String(Number(headers['webhook-timestamp']) + 1);
  const later = { ...headers, 'webhook-timestamp': timestamp };
  await refused(verifyWebhook(BODY, later, SECRET, options), why);
  for (const version of ['v1a,', 'v2,', '']) {
    const other = headers['webhook-signature'].replace('v1,', version);
    const relabelled = { ...headers, 'webhook-signature': other };
    await refused(verifyWebhook(BODY, relabelled, SECRET, options), why);
  }
  const short = { ...headers, 'webhook-signature': headers['webhook-signature'].slice(0, 7) };
  await refused(verifyWebhook(BODY, short, SECRET, options), why);
});

test('tolerates five minutes of clock skew in both directions', async () => {
  for (const [seconds, good] of [
    [-300, true],
    [300, true],
    [-301, false],
    [301, false],
  ] as const) {
    const headers = headersOf(SECRET, new Date(NOW.getTime() + seconds * 1000));
    const verifying = verifyWebhook(BODY, headers, SECRET, options);
    if (good) expect(await verifying).toMatchObject({ id: 'evt_1' });
    else await refused(verifying, 'too old or too new');
  }
  for (const timestamp of ['', 'NaN', '1e9', '-5', ' ']) {
    const headers = { ...headersOf(), 'webhook-timestamp': timestamp };
    await refused(verifyWebhook(BODY, headers, SECRET, options), /webhook-timestamp is/);
  }
});

test('programming errors are TypeErrors that do not contain the secret', async () => {
  const verify = verifyWebhook;
  for (const name of Object.keys(headersOf())) {
    for (const value of [undefined, '', ['a', 'b']]) {
      const headers = { ...headersOf(), [name]: value };
      await refused(verify(BODY, headers, SECRET, options), `${name} is missing`);
    }
  }
  for (const secret of ['whsec_', '', 'whsec_ä']) {
    const why = new TypeError('A webhook secret is whsec_ followed by Base64');
    await expect(verify(BODY, headersOf(), secret, options)).rejects.toThrow(why);
  }
  await expect(verify(BODY, headersOf(), [], options)).rejects.toThrow(TypeError);
  await expect(verify(BODY, headersOf(), 'whsec_ä', options)).rejects.not.toThrow(/ä/);
  const parsed = JSON.parse(BODY) as string;
  await expect(verify(parsed, headersOf(), SECRET, options)).rejects.toThrow('raw body');
});
