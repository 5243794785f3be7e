import { expect, test } from 'vitest';
import { validMessage } from '../../harness/app.ts';
import { type Cells, move, startCells } from '../../harness/database/cells.ts';
import { freePort } from '../../harness/free-port.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { receive } from '../../harness/smtp/inbound-setup.ts';
import { until } from '../../harness/until.ts';

/**
 * Mail from a workspace in one cell to a domain that a workspace in another cell receives for. It leaves
 * over SMTP, and its MX record leads to the router, which may have the same name as the cell.
 */

const ROUTER_HOST = 'mail.postrider.test';
const MX = { MX: [`10 ${ROUTER_HOST}`] };
const ZONE = {
  'east.example.com': MX,
  'west.example.com': MX,
  'unused.example.com': MX,
  [ROUTER_HOST]: { A: ['127.0.0.1'] },
};

async function startMailingCells(helloNames: Record<string, string>, env = {}) {
  const dns = await startDnsServer(ZONE);
  const port = String(await freePort());
  const cells = await startCells(
    ['east', 'west'],
    (cell) => ({
      DNS_SERVERS: dns.address,
      MX_PORT: port,
      HELO_NAME: helloNames[cell] as string,
      RETRY_FIRST_SECONDS: '1',
      ...env,
    }),
    {
      deliversBySmtp: true,
      routerEnv: { RETURN_PATH_PORT: port, HELO_NAME: helloNames.router as string },
    },
  );
  for (const name of ['east', 'west']) {
    const { workspaceId, liveKey, app } = cells.app(name);
    await receive(cells.app(name), workspaceId, liveKey, `${name}.example.com`);
    await app.workspaces.create('Stays');
  }
  return {
    cells,
    async [Symbol.asyncDispose]() {
      await cells[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
}

async function send(cells: Cells, cell: string, to: string, key = cells.app(cell).liveKey) {
  const domain = key === cells.app('east').liveKey ? 'east' : 'west';
  const body = validMessage({
    from: { email: `a@${domain}.example.com` },
    to: { email: to },
    subject: `To ${to}`,
  });
  const sent = await cells.app(cell).call('POST', '/transactional/send', { key, body });
  expect(sent.status).toBe(202);
  return sent.json.id as string;
}

async function endOf(cells: Cells, cell: string, id: string, key = cells.app(cell).liveKey) {
  await until(async () => !['queued', 'deferred'].includes(await statusOf(cells, cell, id, key)), {
    timeoutMs: 60_000,
  });
  return (await cells.app(cell).call('GET', `/messages/${id}`, { key })).json;
}

async function statusOf(cells: Cells, cell: string, id: string, key = cells.app(cell).liveKey) {
  const { json } = await cells.app(cell).call('GET', `/messages/${id}`, { key });
  return json.status;
}

async function subjects(cells: Cells, cell: string, key = cells.app(cell).liveKey) {
  const { json } = await cells.app(cell).call('GET', '/inbound-messages?limit=100', { key });
  return json.data.map(({ subject }: { subject: string }) => subject);
}

/** What the workspace has received when a message of its own has arrived. */
async function subjectsAfter(
  cells: Cells,
  cell: string,
  address: string,
  key = cells.app(cell).liveKey,
): Promise<string[]> {
  const { status } = await endOf(cells, cell, await send(cells, cell, address, key), key);
  expect([address, status]).toEqual([address, 'delivered']);
  const found = await subjects(cells, cell, key);
  expect(found).toContain(`To ${address}`);
  return found;
}

test.each([
  ['names of their own', { east: 'east.test', west: 'west.test', router: ROUTER_HOST }, 'off'],
  ['one name', { east: ROUTER_HOST, west: ROUTER_HOST, router: ROUTER_HOST }, 'off'],
  ['one name', { east: ROUTER_HOST, west: ROUTER_HOST, router: ROUTER_HOST }, 'on'],
])(
  'cells and the router with %s write to each other',
  async (_, names, thread) => {
    await using started = await startMailingCells(names, { DELIVERY_THREAD: thread });
    const { cells } = started;
    for (const [from, to] of [
      ['east', 'west'],
      ['west', 'east'],
      ['east', 'east'],
    ] as const) {
      const address = `from-${from}@${to}.example.com`;
      const { status } = await endOf(cells, from, await send(cells, from, address));
      expect([address, status]).toEqual([address, 'delivered']);
      expect(await subjects(cells, to)).toContain(`To ${address}`);
    }
    // The MX record leads to the router, but no workspace receives for the domain.
    const id = await send(cells, 'east', 'jane@unused.example.com');
    const { status, recipients } = await endOf(cells, 'east', id);
    const isLoop = names.east === names.router;
    expect([status, recipients[0].reason, recipients[0].smtp.enhanced]).toEqual(
      isLoop ? ['bounced', 'protocol_error', '5.4.6'] : ['bounced', 'unknown_mailbox', '5.1.1'],
    );
    const suppressed = await cells
      .app('east')
      .call('GET', '/suppressions', { key: cells.app('east').liveKey });
    expect(suppressed.json.data).toHaveLength(isLoop ? 0 : 1);
  },
  120_000,
);

test('mail arrives once while the workspace that receives it moves to the cell of the sender', async () => {
  const names = { east: ROUTER_HOST, west: ROUTER_HOST, router: ROUTER_HOST };
  await using started = await startMailingCells(names);
  const { cells } = started;
  const east = cells.app('east');
  await subjectsAfter(cells, 'east', 'own-1@east.example.com');

  const over = new AbortController();
  const ids: string[] = [];
  const sending = (async () => {
    for (; !over.signal.aborted; ) {
      const address = `during-${ids.length}@east.example.com`;
      ids.push(await send(cells, 'west', address));
      // One after the other, so that mail is sent at every stage of the move.
      await until(async () => (await statusOf(cells, 'west', ids.at(-1) as string)) !== 'queued');
    }
  })();
  await until(() => ids.length > 3);
  const parting = Array.from({ length: 10 }, (_, n) => `parting-${n}@east.example.com`);
  const partingIds = await Promise.all(parting.map((address) => send(cells, 'east', address)));
  await move(cells, east.workspaceId, 'east', 'west');
  const moved = ids.length;
  await until(() => ids.length > moved + 3);
  over.abort();
  await sending;
  for (const id of ids) expect((await endOf(cells, 'west', id)).status).toBe('delivered');
  for (const id of partingIds) {
    expect((await endOf(cells, 'west', id, east.liveKey)).status).toBe('delivered');
  }
  const mine = await subjectsAfter(cells, 'west', 'own-2@east.example.com', east.liveKey);
  const during = ids.map((_, n) => `during-${n}@east.example.com`);
  const own = ['own-1@east.example.com', 'own-2@east.example.com'];
  const expected = [...own, ...parting, ...during].map((address) => `To ${address}`);
  expect(mine.sort()).toEqual(expected.sort());
}, 120_000);
