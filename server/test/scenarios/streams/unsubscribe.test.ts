import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { validMessage } from '../../harness/app.ts';
import {
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';

/**
 * Mail of a subscription stream has a link and the headers of RFC 8058, with which a recipient leaves
 * that stream and no other. The whole server delivers to a scripted receiver, and links are followed
 * by a plain HTTP client, as an email client or a scanner would.
 */

const BASE_URL = 'https://mail.postrider.test';

let server: ReturnPathServer;
beforeAll(async () => {
  server = await startReturnPathServer({ env: { BASE_URL } });
  const brand = { name: 'Example Ltd.', color: '#0a7cff' };
  for (const stream of [
    { key: 'digest', name: 'Weekly digest', brand },
    { key: 'news', name: 'Product news', brand },
    { key: 'offers', name: 'Offers', brand },
    { key: 'elsewhere', name: 'Another sender' },
  ]) {
    await call('POST', '/streams', { ...stream, purpose: 'subscription' });
  }
});
afterAll(() => server[Symbol.asyncDispose]());

const call = async (method: string, path: string, body?: object) =>
  server.app.call(method, path, { key: server.app.liveKey, ...(body ? { body } : {}) });

async function sendDigest(email: string, more: Record<string, unknown> = {}) {
  const { id } = await server.send({ to: { email }, stream: 'digest', ...more });
  // Mail of earlier tests may arrive in between.
  const raw =
    server.receiver.messages.map((one) => one.raw.toString()).find((one) => one.includes(id)) ?? '';
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]/g, ' ');
  const url = /^List-Unsubscribe: <(https[^>]*)>/m.exec(head)?.[1] ?? '';
  return { id, raw, head, path: url.replace(BASE_URL, '') };
}

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(server.app.url + path, { headers });

/** As email clients do (RFC 8058, section 3.1). */
const oneClick = (path: string) =>
  fetch(server.app.url + path, {
    method: 'POST',
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  });

const submit = (path: string, action: string, more: [string, string][] = []) =>
  fetch(server.app.url + path, {
    method: 'POST',
    body: new URLSearchParams([['action', action], ...more]),
  });

const suppressionsOf = async (email: string) =>
  (await call('GET', `/suppressions?email=${email}`)).json.data;

async function statusOfNext(email: string, stream: string): Promise<string> {
  const body = validMessage({ to: { email }, stream });
  return (await call('POST', '/transactional/send', body)).json.status;
}

test('one click leaves the digest, and a password reset still arrives', async () => {
  const email = 'jane@example.com';
  const { id, path, head } = await sendDigest(email, { metadata: { issue: '7' } });
  expect(head).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
  const left = await oneClick(path);
  expect([left.status, await left.text()]).toEqual([200, '']);
  expect(await suppressionsOf(email)).toMatchObject([
    { email, stream: 'digest', reason: 'unsubscribe', evidence: { message_id: id } },
  ]);
  const events = (await server.events(id)).filter(
    ({ type }: { type: string }) => type === 'message.unsubscribed',
  );
  expect(events).toMatchObject([
    { data: { recipient: email, stream: 'digest', metadata: { issue: '7' }, source: 'one_click' } },
  ]);
  expect(await statusOfNext(email, 'digest')).toBe('suppressed');
  const reset = await server.send({ to: { email }, subject: 'Reset your password' });
  expect(reset.raw).toContain('Subject: Reset your password');
  expect(reset.raw).not.toContain('List-Unsubscribe');
});

test('both headers are covered by a signature that another implementation verifies', async () => {
  const { raw } = await sendDigest('signed@example.com');
  const { json } = await call('GET', '/domains');
  const records = json.data[0].records as { type: string; name: string; value: string }[];
  const { results } = await dkimVerify(Buffer.from(raw, 'latin1'), {
    resolver: async (name: string) => {
      const record = records.find((one) => one.type === 'TXT' && one.name === name);
      if (!record) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
      return [record.value.match(/.{1,255}/g) ?? []];
    },
  });
  expect(results.length).toBeGreaterThan(0);
  for (const { status, signingHeaders } of results) {
    expect(status.result).toBe('pass');
    const signed = signingHeaders?.keys.toLowerCase().split(/[:\s]+/) ?? [];
    expect(signed).toEqual(
      expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post', 'from']),
    );
  }
});

test('the mailto form leaves the digest too, and automatic replies do not', async () => {
  const email = 'writes@example.com';
  const { id, head } = await sendDigest(email);
  const address = /<mailto:([^?>]*)\?subject=unsubscribe>/.exec(head)?.[1] ?? '';
  const mail = (more = '') => `From: ${email}\r\nSubject: unsubscribe\r\n${more}\r\nBye\r\n`;
  await server.report(address, mail('Auto-Submitted: auto-replied\r\n'), email);
  expect(await suppressionsOf(email)).toEqual([]);
  const forged = address.replace(/^u-./, (start) => (start === 'u-2' ? 'u-3' : 'u-2'));
  expect(await server.report(forged, mail(), email)).toMatchObject({ code: 550 });
  expect(await server.report(address, mail(), email)).toMatchObject({ code: 250 });
  expect(await suppressionsOf(email)).toMatchObject([{ stream: 'digest', reason: 'unsubscribe' }]);
  expect(await server.events(id)).toContainEqual(
    expect.objectContaining({
      type: 'message.unsubscribed',
      data: expect.objectContaining({ source: 'mail' }),
    }),
  );
});

test('a scanner that follows the link changes nothing', async () => {
  const { path } = await sendDigest('scanned@example.com');
  for (const method of ['GET', 'HEAD']) {
    const response = await fetch(server.app.url + path, { method });
    expect(response.status).toBe(200);
  }
  expect(await suppressionsOf('scanned@example.com')).toEqual([]);
  const page = await (await get(path, { 'accept-language': 'de-AT, en' })).text();
  expect(page).toContain('<html lang="de">');
  expect(page).toContain('Weekly digest');
  expect(page).toContain('Example Ltd.');
  expect(page).not.toContain('<script');
});

test('the page unsubscribes and subscribes again without a script', async () => {
  const email = 'page@example.com';
  const { id, path } = await sendDigest(email);
  const left = await (await submit(path, 'unsubscribe')).text();
  expect(left).toContain('You are unsubscribed');
  expect(left).toContain('value="resubscribe"');
  expect(await statusOfNext(email, 'digest')).toBe('suppressed');
  const back = await (await submit(path, 'resubscribe')).text();
  expect(back).toContain('You are subscribed to');
  expect(await suppressionsOf(email)).toEqual([]);
  expect((await server.events(id)).map(({ type }: { type: string }) => type)).toContain(
    'message.unsubscribed',
  );
  expect(await statusOfNext(email, 'digest')).not.toBe('suppressed');
});

test('a repeated click changes nothing more, and coming back never lifts a complaint', async () => {
  const email = 'twice@example.com';
  const { id, path } = await sendDigest(email);
  for (let n = 0; n < 3; n++) expect((await oneClick(path)).status).toBe(200);
  const left = (await server.events(id)).filter(
    ({ type }: { type: string }) => type === 'message.unsubscribed',
  );
  expect(left).toHaveLength(1);
  expect(await suppressionsOf(email)).toHaveLength(1);
  const body = { email, stream: 'digest', reason: 'complaint' };
  await call('POST', '/suppressions', body);
  const page = await (await submit(path, 'resubscribe')).text();
  expect(page).toContain('You do not receive <strong>');
  expect(page).not.toContain('value="resubscribe"');
  expect(await suppressionsOf(email)).toMatchObject([{ reason: 'complaint' }]);
});

test('recipients choose among the streams of the sender, and see no others', async () => {
  const email = 'chooses@example.com';
  const { id, path } = await sendDigest(email);
  await call('POST', '/suppressions', { email, stream: 'offers' });
  const page = await (await get(path)).text();
  expect(page).toContain('name="chosen" value="news" checked>');
  expect(page).toContain('name="chosen" value="offers" disabled>');
  expect(page).not.toContain('elsewhere');
  const choose = async (...chosen: string[]) => {
    const shown = ['news', 'offers', 'elsewhere', 'transactional'];
    const response = await submit(path, 'choose', [
      ...shown.map((key): [string, string] => ['shown', key]),
      ...chosen.map((key): [string, string] => ['chosen', key]),
    ]);
    expect(await response.text()).toContain('Your choice is saved.');
    const found: { stream: string; reason: string }[] = await suppressionsOf(email);
    return found.map(({ stream, reason }) => `${stream} ${reason}`).toSorted();
  };
  // The digest itself is not among them, and what the sender has suppressed stays.
  expect(await choose()).toEqual(['news unsubscribe', 'offers manual']);
  expect((await get(path)).status).toBe(200);
  expect(await server.events(id)).toContainEqual(
    expect.objectContaining({
      type: 'message.unsubscribed',
      data: expect.objectContaining({ stream: 'news', source: 'page' }),
    }),
  );
  expect(await statusOfNext(email, 'news')).toBe('suppressed');
  expect(await choose('news', 'offers', 'elsewhere')).toEqual(['offers manual']);
  // A stream that the page had not shown is not left.
  await submit(path, 'choose');
  expect(await statusOfNext(email, 'news')).not.toBe('suppressed');
});

test('a forged token is not found and changes nothing', async () => {
  const { path } = await sendDigest('forged@example.com');
  const forged = [
    `${path.slice(0, -2)}${path.endsWith('AA') ? 'BB' : 'AA'}`,
    '/u/x',
    `${path}x`,
    `/u/${'A'.repeat(120)}`,
  ];
  for (const wrong of forged) {
    expect((await get(wrong)).status).toBe(404);
    expect((await oneClick(wrong)).status).toBe(404);
    expect((await submit(wrong, 'resubscribe')).status).toBe(404);
    expect((await submit(wrong, 'choose', [['shown', 'news']])).status).toBe(404);
  }
  expect(await suppressionsOf('forged@example.com')).toEqual([]);
});

test('a link still works after the message was deleted', async () => {
  const email = 'old@example.com';
  const { path } = await sendDigest(email);
  for (const table of ['deliveries', 'messages']) {
    await server.database.pool.query(`delete from ${table}`);
  }
  expect(await (await submit(path, 'unsubscribe')).text()).toContain('You are unsubscribed');
  expect(await suppressionsOf(email)).toMatchObject([{ email, stream: 'digest' }]);
  expect(await (await submit(path, 'resubscribe')).text()).toContain('You are subscribed to');
  expect(await suppressionsOf(email)).toEqual([]);
});

test('a link still works after the address was erased', async () => {
  const email = 'erased@example.com';
  const { path } = await sendDigest(email);
  await call('DELETE', `/contacts/${email}?erase=true`);
  expect((await oneClick(path)).status).toBe(200);
  expect(await suppressionsOf(email)).toMatchObject([
    { email: null, erased: true, stream: 'digest', reason: 'unsubscribe' },
  ]);
  expect(await statusOfNext(email, 'digest')).toBe('suppressed');
  expect(await statusOfNext(email, 'transactional')).not.toBe('suppressed');
});

describe('content', () => {
  test('{{ unsubscribe_url }} is the link, and it is not tracked', async () => {
    const { raw, path } = await sendDigest('placed@example.com', {
      html: '<p><a href="{{ unsubscribe_url }}">Leave</a> <a href="https://shop.example/">Shop</a></p>',
      text: 'Leave: {{ unsubscribe_url }}',
      tracking: { clicks: true },
    });
    const body = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
    expect(body).toContain(`href="${BASE_URL}${path}"`);
    expect(body).toContain(`Leave: ${BASE_URL}${path}`);
    expect(body).not.toContain('href="https://shop.example/"');
  });

  test('the placeholder has no value in a transactional stream', async () => {
    const body = validMessage({ html: '<p>{{ unsubscribe_url }}</p>' });
    const refused = await call('POST', '/transactional/send', body);
    expect([refused.status, refused.json.code]).toEqual([422, 'missing_variables']);
    expect(refused.json.errors[0].detail).toContain('subscription streams only');
  });

  test('a sender’s own List-Unsubscribe stays', async () => {
    const { head } = await sendDigest('own@example.com', {
      headers: { 'List-Unsubscribe': '<https://shop.example/leave>' },
    });
    expect(head).toContain('List-Unsubscribe: <https://shop.example/leave>');
    expect(head).not.toContain(BASE_URL);
  });

  test('mail in a subscription stream has one recipient', async () => {
    const two = validMessage({ stream: 'digest', cc: [{ email: 'b@example.com' }] });
    const refused = await call('POST', '/transactional/send', two);
    expect(refused.status).toBe(422);
    expect(refused.json.errors).toMatchObject([{ pointer: '/to', code: 'too_many_recipients' }]);
    const own = { headers: { 'List-Unsubscribe': '<https://shop.example/leave>' } };
    const accepted = await call('POST', '/transactional/send', { ...two, ...own });
    expect(accepted.status).toBe(202);
  });
});
