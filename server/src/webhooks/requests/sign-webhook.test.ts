import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createHmacSha256 } from '../../lib/crypto/hmac.ts';
import { formatSecret, newSecret, signedHeaders } from './sign-webhook.ts';

const body = Buffer.from('{"type":"message.delivered","text":"Grüße ✓"}');

function verify(secret: Buffer, headers: object, payload: Buffer = body): unknown {
  return new Webhook(formatSecret(secret)).verify(payload, headers as Record<string, string>);
}

test('the reference library verifies a signature', () => {
  const secret = newSecret();
  const headers = signedHeaders('evt_1', Date.now(), body, [createHmacSha256(secret)]);
  expect(verify(secret, headers)).toMatchObject({ type: 'message.delivered' });
  expect(headers['webhook-signature']).toBe(
    new Webhook(formatSecret(secret)).sign(
      'evt_1',
      new Date(Number(headers['webhook-timestamp']) * 1000),
      body,
    ),
  );
});

test('during a rotation both secrets verify', () => {
  const [fresh, old] = [newSecret(), newSecret()];
  const keys = [fresh, old].map((secret) => createHmacSha256(secret));
  const headers = signedHeaders('evt_1', Date.now(), body, keys);
  expect(headers['webhook-signature'].split(' ')).toHaveLength(2);
  verify(fresh, headers);
  verify(old, headers);
});

test('another id, time, body or secret does not verify', () => {
  const secret = newSecret();
  const headers = signedHeaders('evt_1', Date.now(), body, [createHmacSha256(secret)]);
  const later = String(Number(headers['webhook-timestamp']) + 1);
  for (const wrong of [{ 'webhook-id': 'evt_2' }, { 'webhook-timestamp': later }]) {
    expect(() => verify(secret, { ...headers, ...wrong })).toThrow('No matching signature');
  }
  expect(() => verify(secret, headers, Buffer.from('{}'))).toThrow('No matching signature');
  expect(() => verify(newSecret(), headers)).toThrow('No matching signature');
});

test('a secret has 32 random bytes', () => {
  expect(formatSecret(newSecret())).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(formatSecret(newSecret())).not.toBe(formatSecret(newSecret()));
});
