import { expect, test } from 'vitest';
import {
  BOUNCE_HOST,
  complaint,
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';

/**
 * A provider's complaint is recorded and suppresses the recipient, but only if the returned message
 * proves that it was sent by this server: no one can suppress someone else's address. The whole server
 * delivers to a scripted receiver, and reports are built from what the receiver saw.
 */

const COMPLAINTS = `complaints@${BOUNCE_HOST}`;

async function suppressed(server: ReturnPathServer, key = server.app.liveKey): Promise<string[]> {
  const { json } = await server.app.call('GET', '/suppressions', { key });
  return json.data.map(({ email, reason }: Record<string, string>) => `${email} ${reason}`);
}

async function complaints(server: ReturnPathServer, id: string) {
  return (await server.events(id)).filter(({ type }) => type === 'message.complained');
}

test('a complaint with the return path in the returned header is recorded once, and the status stays', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath, raw } = await server.send({ metadata: { order: '7' } });
  const header = raw.slice(0, raw.indexOf('\r\n\r\n'));
  const report = complaint({ returned: `Return-Path: <${returnPath.toUpperCase()}>\n${header}` });
  const from = 'feedback@provider.test';
  for (const to of [COMPLAINTS, COMPLAINTS.toUpperCase(), COMPLAINTS]) {
    expect(await server.report(to, report, from)).toMatchObject({ code: 250 });
  }
  const message = await server.message(id);
  expect(message.status).toBe('delivered');
  const facts = { reported_by: 'Provider-Feedback/1.0', feedback_type: 'abuse' };
  const recorded = await complaints(server, id);
  expect(recorded).toHaveLength(1);
  expect(message.recipients[0].complained_at).toBe(recorded[0].created_at);
  expect(recorded[0]).toMatchObject({
    sequence: 3,
    data: {
      recipient: 'jane@example.com',
      metadata: { order: '7' },
      smtp: { code: 250, mx: 'mx1.example.test' },
      report: facts,
    },
  });
  expect(await suppressed(server)).toEqual(['jane@example.com complaint']);
  const { json } = await server.app.call('GET', '/suppressions', { key: server.app.liveKey });
  expect(json.data[0].evidence).toMatchObject({ message_id: id, report: facts });
  await until(async () => {
    const stats = await server.app.call('GET', '/stats', { key: server.app.liveKey });
    return JSON.stringify(stats.json).includes('"complained":1');
  });
});

test('the proof may be in the report, in a Received header, or in the report address', async () => {
  await using server = await startReturnPathServer();
  const send = (name: string) => server.send({ to: { email: `${name}@example.com` } });
  const stated = await send('a');
  await server.report(
    COMPLAINTS,
    complaint({ fields: `Original-Mail-From: <${stated.returnPath}>` }),
  );
  const traced = await send('b');
  const trace = `Received-SPF: pass (x: y) client-ip=192.0.2.1;\n envelope-from=${traced.returnPath}; helo=z`;
  await server.report(COMPLAINTS, complaint({ type: 'fraud', returned: trace }));
  const straight = await send('c');
  await server.report(straight.returnPath, complaint());
  for (const { id } of [stated, traced, straight]) {
    expect(await complaints(server, id)).toHaveLength(1);
  }
  expect((await suppressed(server)).toSorted()).toEqual([
    'a@example.com complaint',
    'b@example.com complaint',
    'c@example.com complaint',
  ]);
});

test('a complaint without proof changes nothing', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath, raw } = await server.send();
  const header = raw.slice(0, raw.indexOf('\r\n\r\n'));
  const recipient = 'Original-Rcpt-To: <jane@example.com>';
  const forged = returnPath.replace(/^b-../, 'b-zz');
  const [local] = returnPath.split('@');
  for (const [fields, returned] of [
    // Everything that another recipient, or a relay on the way, could know.
    [recipient, header],
    [`${recipient}\nOriginal-Mail-From: <${forged}>`, `Return-Path: <${forged}>`],
    [`${recipient}\nOriginal-Mail-From: <${local}@elsewhere.example>`, 'Subject: x'],
    [recipient, `Subject: x\n\nReturn-Path: <${returnPath}>`],
  ] as const) {
    expect((await server.report(COMPLAINTS, complaint({ fields, returned }))).code).toBe(250);
  }
  // The opposite of a complaint, and reports about servers.
  const proof = `Return-Path: <${returnPath}>`;
  for (const type of ['not-spam', 'auth-failure', 'dmarc', 'other', '']) {
    expect((await server.report(COMPLAINTS, complaint({ type, returned: proof }))).code).toBe(250);
  }
  // Human senders get a rejection that says no one reads this mailbox.
  const angry = 'Subject: Stop it!\r\n\r\nI do not want this.';
  expect((await server.report(COMPLAINTS, angry, 'jane@example.com')).code).toBe(550);
  expect(await complaints(server, id)).toEqual([]);
  expect(await suppressed(server)).toEqual([]);
  const metrics = await fetch(`${server.app.url}/metrics`).then((answer) => answer.text());
  expect(metrics).toMatch(/reports_total\{outcome="unverified".*\} 4$/m);
  expect(metrics).toMatch(/reports_total\{outcome="feedback".*\} 5$/m);
});

test('if several recipients share a return path, only a recipient of that message can complain', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send({ cc: [{ email: 'joe@example.com' }] });
  const other = await server.send({ to: { email: 'victim@example.com' } });
  const returned = `Return-Path: <${returnPath}>`;
  await server.report(COMPLAINTS, complaint({ returned }));
  await server.report(
    COMPLAINTS,
    complaint({ returned, fields: 'Original-Rcpt-To: victim@example.com' }),
  );
  expect(await suppressed(server)).toEqual([]);
  await server.report(
    COMPLAINTS,
    complaint({ returned, fields: 'Original-Rcpt-To: <Joe@Example.com>' }),
  );
  expect(await suppressed(server)).toEqual(['joe@example.com complaint']);
  expect(await complaints(server, id)).toMatchObject([{ data: { recipient: 'joe@example.com' } }]);
  expect(await complaints(server, other.id)).toEqual([]);
});

test('a proof from one workspace cannot use the bounce host of another', async () => {
  await using server = await startReturnPathServer();
  const otherWorkspace = await server.app.app.workspaces.create('Neighbour');
  await server.app.app.domains.trust(otherWorkspace.id, { name: 'other.example' });
  const key = await server.app.newKey({ mode: 'live', workspaceId: otherWorkspace.id });
  const { id, returnPath } = await server.send();
  const [local] = returnPath.split('@');
  const returned = `Return-Path: <${local}@bounce.other.example>`;
  await server.report(COMPLAINTS, complaint({ returned }));
  expect(await complaints(server, id)).toEqual([]);
  expect([await suppressed(server), await suppressed(server, key)]).toEqual([[], []]);
});
