import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { createAddressHash } from '../../../src/suppressions/erased-address.ts';
import { Suppressions } from '../../../src/suppressions/suppressions.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { eventsOf as ledgerOf } from '../../harness/database/enqueue-messages.ts';

/** The suppression list as managed by clients, its events, and its effect on sends. */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

/** Reads the events table: the feed may be slightly behind. */
async function eventsOf(id: string): Promise<string[]> {
  const events = await ledgerOf(app.database.pool, app.workspaceId);
  return events
    .filter(({ data }) => (data.suppression as { id?: string } | undefined)?.id === id)
    .map(({ type }) => type);
}

async function add(body: Record<string, unknown>, key?: string) {
  return app.call('POST', '/suppressions', { body, ...(key ? { key } : {}) });
}

test('an address is suppressed, read, changed and deleted, each with its event', async () => {
  const made = await add({ email: 'Jane@Example.com', note: 'by phone' });
  expect(made.status).toBe(201);
  expect(made.json).toEqual({
    id: expect.stringMatching(/^sup_/),
    email: 'Jane@example.com',
    domain: null,
    stream: null,
    reason: 'manual',
    evidence: null,
    note: 'by phone',
    erased: false,
    created_at: expect.any(String),
    expires_at: null,
  });
  const read = await app.call('GET', `/suppressions/${made.json.id}`);
  expect([read.status, read.json]).toEqual([200, made.json]);

  const again = await add({ email: 'jane@EXAMPLE.com', reason: 'complaint' });
  expect(again.status).toBe(200);
  expect(again.json).toEqual({ ...made.json, reason: 'complaint' });

  const end = new Date(Date.now() + 86_400_000).toISOString();
  const changed = await app.call('PATCH', `/suppressions/${made.json.id}`, {
    body: { expires_at: end, note: null },
  });
  expect(changed.status).toBe(200);
  expect(changed.json).toMatchObject({ reason: 'complaint', note: null, expires_at: end });

  expect((await app.call('DELETE', `/suppressions/${made.json.id}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) {
    expect((await app.call(method, `/suppressions/${made.json.id}`)).status).toBe(404);
  }
  const late = await app.call('PATCH', `/suppressions/${made.json.id}`, { body: { note: 'x' } });
  expect(late.status).toBe(404);
  expect(await eventsOf(made.json.id)).toEqual(['suppression.created', 'suppression.deleted']);
});

test('sends skip a suppressed address or domain, until it is deleted', async () => {
  const statuses = async (): Promise<string[]> => {
    const { json } = await app.call('POST', '/transactional/send', {
      body: validMessage({
        to: { email: 'stop@one.test' },
        cc: [{ email: 'any@two.test' }, { email: 'free@one.test' }],
      }),
    });
    return json.recipients.map(
      (one: { status: string; reason?: string }) => one.reason ?? one.status,
    );
  };
  expect(await statuses()).toEqual(['queued', 'queued', 'queued']);
  await add({ email: 'STOP@one.test', reason: 'unsubscribe' });
  const domain = await add({ domain: 'TWO.test' });
  expect(domain.json).toMatchObject({ email: null, domain: 'two.test', reason: 'manual' });
  expect(await statuses()).toEqual(['unsubscribe', 'manual', 'queued']);
  expect((await app.call('DELETE', '/suppressions?email=stop@one.test')).status).toBe(204);
  expect((await app.call('DELETE', '/suppressions?email=stop@one.test')).status).toBe(404);
  expect((await app.call('DELETE', '/suppressions?email=any@two.test')).status).toBe(404);
  expect((await app.call('DELETE', '/suppressions')).json.errors).toEqual([
    expect.objectContaining({ parameter: 'email', code: 'required' }),
  ]);
  await app.call('DELETE', `/suppressions/${domain.json.id}`);
  expect(await statuses()).toEqual(['queued', 'queued', 'queued']);
});

describe('the list', () => {
  beforeAll(async () => {
    for (let n = 0; n < 25; n++) {
      await add({
        email: `list${String(n).padStart(2, '0')}@list.test`,
        reason: n % 5 ? 'unsubscribe' : 'complaint',
      });
    }
    await add({ domain: 'list.test' });
    await add({ domain: 'listed.test' });
  });

  async function names(query: string): Promise<string[]> {
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { json, status } = await app.call(
        'GET',
        `/suppressions?${query}${cursor && `&cursor=${cursor}`}`,
      );
      expect(status).toBe(200);
      found.push(
        ...json.data.map(
          (one: { email: string | null; domain: string }) => one.email ?? one.domain,
        ),
      );
      cursor = json.next_cursor;
    }
    return found;
  }

  test('is newest first, page by page', async () => {
    const all = await names('limit=7');
    expect(all.slice(0, 3)).toEqual(['listed.test', 'list.test', 'list24@list.test']);
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(27);
  });

  test('filters by reason, address or domain prefix, and time', async () => {
    expect(await names('reason=complaint&limit=2')).toEqual(
      ['20', '15', '10', '05', '00'].map((n) => `list${n}@list.test`),
    );
    expect(await names('q=LIST1&limit=3')).toEqual(
      Array.from({ length: 10 }, (_, n) => `list1${n}@list.test`),
    );
    expect(await names('q=list&limit=100')).toHaveLength(27);
    expect((await names('q=list&limit=100')).slice(0, 3)).toEqual([
      'list.test',
      'listed.test',
      'list00@list.test',
    ]);
    expect(await names('q=list&reason=complaint')).toHaveLength(5);
    expect(await names('email=list03@list.test')).toEqual(['list.test', 'list03@list.test']);
    expect(await names('email=new@listed.test')).toEqual(['listed.test']);
    expect(await names('email=list05@list.test&reason=complaint')).toEqual(['list05@list.test']);
    expect(await names('email=nonsense')).toEqual([]);
    const { json } = await app.call('GET', '/suppressions?email=list10@list.test');
    const at = json.data.at(-1).created_at;
    const after = await names(`q=list&limit=100&created_after=${at}`);
    const before = await names(`q=list&limit=100&created_before=${at}`);
    expect(after).toContain('list10@list.test');
    expect(after.length + before.length).toBe(27);
  });

  test.each([
    ['reason=bored', 'reason'],
    ['created_after=x', 'created_after'],
    ['cursor=e30', 'cursor'],
    ['q=', 'q'],
  ])('rejects %s', async (query, parameter) => {
    const answer = await app.call('GET', `/suppressions?${query}`);
    expect([answer.status, answer.json.errors[0].parameter]).toEqual([422, parameter]);
  });
});

test.each([
  ['neither address nor domain', {}, '/email'],
  ['both', { email: 'a@b.test', domain: 'b.test' }, '/domain'],
  ['no address', { email: 'nobody' }, '/email'],
  ['no domain', { domain: 'not a domain' }, '/domain'],
  ['an unknown reason', { email: 'a@b.test', reason: 'bored' }, '/reason'],
  [
    'an expiry in the past',
    { email: 'a@b.test', expires_at: '2020-01-01T00:00:00Z' },
    '/expires_at',
  ],
  [
    'an expiry that is not a timestamp',
    { email: 'a@b.test', expires_at: 'tomorrow' },
    '/expires_at',
  ],
])('%s is rejected', async (_, body, pointer) => {
  const answer = await add(body);
  expect(answer.status).toBe(422);
  expect(answer.json.errors.map((one: { pointer: string }) => one.pointer)).toContain(pointer);
});

describe('in bulk', () => {
  test('valid entries are added, the others reported', async () => {
    await add({ email: 'there@bulk.test' });
    const answer = await app.call('POST', '/suppressions/bulk', {
      body: {
        suppressions: [
          { email: 'one@bulk.test', reason: 'unsubscribe' },
          { email: 'nobody' },
          { email: 'THERE@bulk.test', note: 'again' },
          { domain: 'bulk.test' },
          { email: 'One@bulk.test', note: 'twice' },
        ],
      },
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ created: 2, existing: 2, failed: 1 });
    expect(answer.json.data).toMatchObject([
      { index: 0, created: true, suppression: { email: 'one@bulk.test', reason: 'unsubscribe' } },
      {
        index: 1,
        error: { code: 'validation_failed', errors: [{ pointer: '/suppressions/1/email' }] },
      },
      { index: 2, created: false, suppression: { email: 'there@bulk.test', note: 'again' } },
      { index: 3, created: true, suppression: { domain: 'bulk.test' } },
      { index: 4, created: false, suppression: { reason: 'unsubscribe', note: 'twice' } },
    ]);
    for (const at of [0, 3]) {
      expect(await eventsOf(answer.json.data[at].suppression.id)).toEqual(['suppression.created']);
    }
    const stored = await app.call('GET', '/suppressions?email=one@bulk.test');
    expect(stored.json.data).toContainEqual(expect.objectContaining({ note: 'twice' }));
  });

  test('accepts a thousand entries and no more', async () => {
    const many = (count: number) => ({
      suppressions: Array.from({ length: count }, (_, n) => ({ email: `n${n}@thousand.test` })),
    });
    const answer = await app.call('POST', '/suppressions/bulk', { body: many(1_000) });
    expect(answer.json).toMatchObject({ created: 1_000, existing: 0, failed: 0 });
    expect((await app.call('POST', '/suppressions/bulk', { body: many(1_001) })).status).toBe(422);
    expect((await app.call('POST', '/suppressions/bulk', { body: many(0) })).status).toBe(422);
  });

  test('without any valid entry is rejected', async () => {
    const answer = await app.call('POST', '/suppressions/bulk', {
      body: { suppressions: [{ email: 'x' }, {}] },
    });
    expect(answer.status).toBe(422);
    expect(answer.json.errors.map((one: { pointer: string }) => one.pointer)).toEqual([
      '/suppressions/0/email',
      '/suppressions/1/email',
    ]);
  });

  test('two concurrent lists create each entry once', async () => {
    const body = {
      suppressions: Array.from({ length: 100 }, (_, n) => ({ email: `r${n}@race.test` })),
    };
    const backwards = { suppressions: body.suppressions.toReversed() };
    const answers = await Promise.all(
      [body, backwards, body, backwards].map((one) =>
        app.call('POST', '/suppressions/bulk', { body: one }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const created = answers.reduce((sum, { json }) => sum + json.created, 0);
    expect(created).toBe(100);
  });
});

test('modes and workspaces are separate', async () => {
  const live = await add({ email: 'apart@one.test' }, app.liveKey);
  expect((await app.call('GET', `/suppressions/${live.json.id}`)).status).toBe(404);
  expect((await app.call('DELETE', '/suppressions?email=apart@one.test')).status).toBe(404);
  const other = await app.app.workspaces.create('Other');
  const key = await app.newKey({ workspaceId: other.id, mode: 'live' });
  expect((await app.call('DELETE', `/suppressions/${live.json.id}`, { key })).status).toBe(404);
  expect(
    (await app.call('GET', `/suppressions/${live.json.id}`, { key: app.liveKey })).status,
  ).toBe(200);
});

/** The module alone, with a manual clock. */
function withClock({ pool }: TestDatabase) {
  const clock = new ManualClock(Date.now());
  const hash = createAddressHash(Buffer.alloc(32));
  return {
    suppressions: new Suppressions({ pool, clock, hash }),
    clock,
    scope: { workspaceId: '00000000-0000-7000-8000-000000000001', mode: 'live' as const },
    inAMinute: new Date(clock.now() + 60_000).toISOString(),
  };
}

test('an entry expires automatically, with an event, and can be created again', async () => {
  await using database = await createTestDatabase();
  const { suppressions, clock, scope, inAMinute: expires_at } = withClock(database);
  const { suppression } = await suppressions.add(scope, { email: 'short@one.test', expires_at });
  const page = { after: undefined, limit: 10 };
  expect(await suppressions.list(scope, {}, page)).toHaveLength(1);
  await suppressions.removeExpired();
  expect(await suppressions.list(scope, {}, page)).toHaveLength(1);
  clock.advance(60_000);
  expect(await suppressions.list(scope, {}, page)).toEqual([]);
  await expect(suppressions.get(scope, suppression.id)).rejects.toMatchObject({
    code: 'not_found',
  });
  // Expired but not removed yet: it has no effect.
  const second = await suppressions.add(scope, { email: 'short@one.test', expires_at: null });
  expect(second.created).toBe(true);
  expect(second.suppression.id).not.toBe(suppression.id);
  const end = new Date(clock.now() + 1_000).toISOString();
  await suppressions.change(scope, second.suppression.id, { expires_at: end });
  clock.advance(1_000);
  await suppressions.removeExpired();
  const { rows } = await database.pool.query('select type from events order by id');
  expect(rows.map((row) => row.type)).toEqual([
    'suppression.created',
    'suppression.created',
    'suppression.deleted',
  ]);
});

test('a hard bounce makes a temporary entry permanent', async () => {
  await using database = await createTestDatabase();
  const { suppressions, clock, scope, inAMinute: expires_at } = withClock(database);
  const pause = { email: 'pause@one.test', note: 'On holiday', expires_at };
  const { suppression } = await suppressions.add(scope, pause);
  await suppressions.add(scope, { email: 'never@one.test' });
  for (const emailKey of ['pause@one.test', 'never@one.test']) {
    const complaint = {
      emailKey,
      stream: '',
      reason: 'complaint',
      evidence: { message_id: 'msg_1' },
    } as const;
    await suppressions.suppress(database.pool, scope, complaint);
  }
  clock.advance(60_000);
  await suppressions.removeExpired();
  const page = { after: undefined, limit: 10 };
  const [never, kept] = await suppressions.list(scope, {}, page);
  expect(kept).toMatchObject({
    id: suppression.id,
    reason: 'complaint',
    evidence: { message_id: 'msg_1' },
    note: 'On holiday',
    expiresAtMs: null,
  });
  // A permanent entry keeps its original reason.
  expect(never).toMatchObject({ reason: 'manual', evidence: null });
});

test('a clock that is wrong by years removes no entry: it applies again when the clock is right', async () => {
  const nowMs = Date.now();
  const yearsMs = 10 * 365 * 86_400_000;
  await using database = await createTestDatabase();
  const clock = new ManualClock(nowMs);
  const hash = createAddressHash(Buffer.alloc(32));
  const suppressions = new Suppressions({ pool: database.pool, clock, hash });
  const scope = { workspaceId: '00000000-0000-7000-8000-000000000001', mode: 'live' as const };
  const end = (ms: number) => ({ expires_at: new Date(nowMs + ms).toISOString() });
  await suppressions.add(scope, { email: 'soon@one.test', ...end(1_000) });
  await suppressions.add(scope, { email: 'later@one.test', ...end(60_000) });
  clock.advance(2_000);
  await suppressions.removeExpired();
  clock.advance(yearsMs);
  await suppressions.removeExpired();
  const page = { after: undefined, limit: 10 };
  expect(await suppressions.list(scope, {}, page)).toEqual([]);
  clock.setBack(yearsMs);
  expect(await suppressions.list(scope, {}, page)).toMatchObject([{ email: 'later@one.test' }]);
  const { rows } = await database.pool.query(
    `select data->'suppression'->>'email' as email from events where type = 'suppression.deleted'`,
  );
  expect(rows).toEqual([{ email: 'soon@one.test' }]);
});
