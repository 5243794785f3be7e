import { expect, test } from 'vitest';
import { verifySnippets } from './verify-snippets.ts';

/** Users paste this snippet unchanged, so it has to work. */

type Verify = (secret: string, headers: Record<string, string>, rawBody: string) => unknown;

async function pasted(): Promise<Verify> {
  const code = verifySnippets().find(({ name }) => name === 'Node')?.code ?? '';
  const file = `data:text/javascript,${encodeURIComponent(code)}`;
  return (await import(/* @vite-ignore */ file)).verifyWebhook;
}

const SECRET_BYTES = new TextEncoder().encode('a secret of thirty-two bytes ...');
const SECRET = `whsec_${base64(SECRET_BYTES)}`;
const BODY = '{"type":"message.delivered"}';

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

async function signed(ageSeconds = 0): Promise<Record<string, string>> {
  const id = 'evt_1';
  const timestamp = String(Math.round(Date.now() / 1000) - ageSeconds);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', SECRET_BYTES, algorithm, false, ['sign']);
  const content = new TextEncoder().encode(`${id}.${timestamp}.${BODY}`);
  const signature = base64(new Uint8Array(await crypto.subtle.sign('HMAC', key, content)));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${btoa('another secret')} v1,${signature}`,
  };
}

test('the Node snippet accepts our signatures and nothing else', async () => {
  const verify = await pasted();
  const headers = await signed();
  expect(verify(SECRET, headers, BODY)).toEqual({ type: 'message.delivered' });
  expect(() => verify(SECRET, headers, `${BODY} `)).toThrow('invalid signature');
  expect(() => verify(`whsec_${btoa('other')}`, headers, BODY)).toThrow('invalid signature');
  const old = await signed(600);
  expect(() => verify(SECRET, old, BODY)).toThrow('timestamp too old');
  expect(() => verify(SECRET, { ...headers, 'webhook-signature': '' }, BODY)).toThrow(
    'invalid signature',
  );
});
