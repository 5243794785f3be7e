import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { move, purge, ROUTER_TOKEN, startCells } from '../../harness/database/cells.ts';
import { letter, receive } from '../../harness/smtp/inbound-setup.ts';
import { connectAndGreet } from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';

/** The router finds the cell whose workspace receives mail for a domain, also after a move. */

test('mail reaches the cells of its recipients, and follows a workspace that moves', async () => {
  await using cells = await startCells(['east', 'west']);
  const { router, database } = cells;
  const [east, west] = [cells.app('east'), cells.app('west')];
  await receive(east, east.workspaceId, east.liveKey, 'east.example.com');
  await receive(west, west.workspaceId, west.liveKey, 'west.example.com');
  const deliver = async (to: string[], subject: string) => {
    using client = await connectAndGreet(router.returnPathPort ?? 0);
    return await client.send({ from: 'jane@example.net', to, data: letter({ subject }) });
  };
  const listed = async (cell: string, key: string) => {
    const { json } = await cells.app(cell).call('GET', '/inbound-messages', { key });
    return json.data;
  };
  const subjectOf = ({ subject }: { subject: string }) => subject;
  const both = ['a@east.example.com', 'b@WEST.example.com', 'c@east.example.com'];
  expect((await deliver(both, 'Both')).code).toBe(250);
  expect(await listed('east', east.liveKey)).toMatchObject([
    { subject: 'Both', envelope: { to: [both[0], both[2]] }, authentication: { dkim: [] } },
  ]);
  expect(await listed('west', west.liveKey)).toMatchObject([
    { subject: 'Both', envelope: { to: ['b@west.example.com'] } },
  ]);
  const raw = await west.call(
    'GET',
    `/inbound-messages/${(await listed('west', west.liveKey))[0].id}/raw`,
    { key: west.liveKey },
  );
  expect(raw.text).toMatch(/^Received: from mx1\.example\.test \(\[127\.0\.0\.1\]\)\r\n/);
  expect((await deliver(['a@nowhere.example'], 'Unknown')).code).toBe(550);
  expect((await deliver(['a@nowhere.example'], 'Unknown')).code).toBe(550);
  expect((await deliver(['a@east.example.com'], 'Again')).code).toBe(250);
  const loop = letter({ header: 'Received: from a by b; now\n'.repeat(51) });
  using client = await connectAndGreet(router.returnPathPort ?? 0);
  const refused = await client.send({ from: '', to: ['a@east.example.com'], data: loop });
  expect(refused.code).toBe(554);
  const post = (url: string, token: string) =>
    fetch(`${url}/cell-inbound-mail`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/octet-stream',
      },
      body: `${JSON.stringify({ from: '', to: [both[0]], client: {} })}\n${letter()}`,
    });
  expect((await post(router.url, ROUTER_TOKEN)).status).toBe(404);
  expect((await post(east.url, east.liveKey)).status).toBe(401);

  await cells.stop('west');
  expect((await deliver(['b@west.example.com'], 'Down')).code).toBe(451);
  // What one cell has stored before the other one fails is recognized.
  expect((await deliver(both, 'Half')).code).toBe(451);
  await cells.start('west');
  expect((await deliver(both, 'Half')).code).toBe(250);
  expect((await listed('west', west.liveKey)).map(subjectOf)).toEqual(['Half', 'Both']);

  await cells.app('east').app.workspaces.create('Stays');
  await move(cells, east.workspaceId, 'east', 'west');
  await until(async () => (await deliver(['a@east.example.com'], 'Moved')).code === 250, {
    timeoutMs: 30_000,
  });
  await purge(database, 'east', east.workspaceId);
  const subjects = (await listed('west', east.liveKey)).map(subjectOf);
  expect(subjects).toEqual(['Moved', 'Half', 'Again', 'Both']);
  const { pool } = cells.app('east').app.storage;
  const rows = await pool.query('select from inbound_messages where workspace_id = $1', [
    east.workspaceId,
  ]);
  expect(rows.rowCount).toBe(0);
}, 120_000);

test('no mail that was answered with 250 is lost while a workspace moves', async () => {
  await using cells = await startCells(['east', 'west']);
  const { router } = cells;
  const east = cells.app('east');
  await receive(east, east.workspaceId, east.liveKey, 'east.example.com');
  await east.app.workspaces.create('Stays');
  const over = new AbortController();
  const accepted: string[] = [];
  const codes = new Set<number>();
  const senders = [1, 2, 3].map(async (sender) => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const subject = `${sender}-${n}`;
      const mail = {
        from: 'jane@example.net',
        to: ['a@east.example.com'],
        data: letter({ subject }),
      };
      for (let code = 0; code !== 250; ) {
        using client = await connectAndGreet(router.returnPathPort ?? 0);
        ({ code } = await client.send(mail));
        codes.add(code);
        if (code !== 250) await sleep(50);
      }
      accepted.push(subject);
    }
  });
  await until(() => accepted.length > 20);
  await move(cells, east.workspaceId, 'east', 'west');
  const moved = accepted.length;
  await until(() => accepted.length > moved + 20, { timeoutMs: 30_000 });
  over.abort();
  await Promise.all(senders);
  expect([...codes].filter((code) => code !== 250 && code !== 451)).toEqual([]);
  const { pool } = cells.app('west').app.storage;
  const { rows } = await pool.query<{ subject: string; raw: Buffer | null }>(
    `select m.subject, c.raw from inbound_messages m
       left join inbound_contents c using (workspace_id, mode, id) where m.workspace_id = $1`,
    [east.workspaceId],
  );
  expect(rows.map(({ subject }) => subject).sort()).toEqual(accepted.sort());
  expect(rows.filter(({ raw }) => raw === null)).toEqual([]);
}, 120_000);
