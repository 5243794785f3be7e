import { expect, test } from 'vitest';
import { startSmtpReceiver } from '../../../test/harness/smtp/smtp-receiver.ts';
import { connectionTo, openTo, smtpMessage } from '../../../test/harness/smtp/smtp-sender.ts';
import { tlsFixtures } from '../../../test/harness/smtp/tls-fixtures.ts';

/** Goal: only the intended relay receives the credentials. */

const auth = { user: 'relay-user', password: 'pässword-1' };

test.each(['PLAIN LOGIN', 'PLAIN', 'LOGIN'])('AUTH %s logs in', async (mechanisms) => {
  const seen: string[] = [];
  await using receiver = await startSmtpReceiver({
    tls: tlsFixtures.good,
    keywords: ['PIPELINING', `AUTH ${mechanisms}`],
    onAuth: (user, password) => {
      seen.push(user, password);
      return undefined;
    },
  });
  const connection = await connectionTo(receiver, { auth, tls: { kind: 'required' } });
  expect(seen).toEqual(['relay-user', 'pässword-1']);
  const { transcript } = await connection.send(smtpMessage());
  const said = JSON.stringify(transcript);
  expect(said).toContain('***');
  for (const secret of [
    auth.password,
    base64(auth.password),
    base64(`\0${auth.user}\0${auth.password}`),
  ]) {
    expect(said).not.toContain(secret);
  }
});

test('a rejected password fails in the auth stage, and is redacted if the relay quotes it', async () => {
  const secret = base64(`\0${auth.user}\0${auth.password}`);
  await using receiver = await startSmtpReceiver({
    keywords: ['AUTH PLAIN'],
    onAuth: () => `535 5.7.8 bad credentials in "AUTH PLAIN ${secret}"`,
  });
  const opened = await openTo(receiver, { auth });
  expect(opened).toMatchObject({
    ok: false,
    failure: {
      kind: 'refused',
      stage: 'auth',
      reply: { code: 535, enhanced: '5.7.8', text: 'bad credentials in "AUTH PLAIN ***"' },
    },
  });
  expect(JSON.stringify(opened)).not.toContain(secret);
});

test('a relay without a supported mechanism fails', async () => {
  await using receiver = await startSmtpReceiver({ keywords: ['AUTH CRAM-MD5'] });
  const opened = await openTo(receiver, { auth });
  expect(opened).toMatchObject({ ok: false, failure: { kind: 'auth_not_offered', stage: 'auth' } });
});

test('a password is never sent in plaintext to an address that is not loopback', async () => {
  // 0.0.0.0 reaches this machine here, but is not a loopback address.
  await using receiver = await startSmtpReceiver({ keywords: ['AUTH PLAIN LOGIN'] });
  const opened = await openTo(receiver, { auth, ip: '0.0.0.0' });
  expect(opened).toMatchObject({ ok: false, failure: { kind: 'auth_needs_tls', stage: 'auth' } });
  expect(receiver.commands.filter((line) => line.startsWith('AUTH'))).toEqual([]);
});

test('an invalid reply to AUTH is a protocol error', async () => {
  await using receiver = await startSmtpReceiver({
    keywords: ['AUTH PLAIN'],
    onAuth: () => '250 ok',
  });
  expect(await openTo(receiver, { auth })).toMatchObject({ failure: { kind: 'protocol_error' } });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
