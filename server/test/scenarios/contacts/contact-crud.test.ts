import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';

/** Contacts are created, read, changed and deleted by address through the API, separately for live and test mode. */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const JANE = {
  email: 'Jane.Doe@Example.com',
  first_name: 'Jane',
  last_name: 'Doe',
  locale: 'de-at',
  attributes: { plan: 'pro', address: { city: 'Vienna', lines: ['a', 'b'] } },
};

test('a contact is created once, and found by its address in any case or by its id', async () => {
  const made = await app.call('POST', '/contacts', { body: JANE });
  expect(made.status).toBe(201);
  expect(made.headers.get('location')).toBe('/api/v1/contacts/Jane.Doe%40example.com');
  expect(made.json).toEqual({
    ...JANE,
    email: 'Jane.Doe@example.com',
    locale: 'de-AT',
    id: expect.stringMatching(/^ctc_/),
    subscriptions: {},
    mode: 'test',
    created_at: made.json.updated_at,
    updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  for (const name of ['jane.doe@example.com', 'JANE.DOE%40EXAMPLE.COM', made.json.id]) {
    const read = await app.call('GET', `/contacts/${name}`);
    expect([read.status, read.json]).toEqual([200, made.json]);
  }
  const again = await app.call('POST', '/contacts', { body: { email: 'JANE.DOE@example.COM' } });
  expect([again.status, again.json.code]).toEqual([409, 'conflict']);
  expect(again.json.fix).toContain('PUT /api/v1/contacts/{email}');
});

test('invalid fields of a contact are all reported', async () => {
  const refused = await app.call('POST', '/contacts', {
    body: {
      email: 'nobody',
      first_name: 'a\u0007',
      locale: 'x y',
      attributes: {
        last_name: 'x',
        'a~/b': 'x'.repeat(10),
        deep: JSON.parse('['.repeat(20) + ']'.repeat(20)),
      },
    },
  });
  expect(refused.status).toBe(422);
  expect(refused.json.errors.map((one: { pointer: string }) => one.pointer).sort()).toEqual([
    '/attributes',
    '/attributes/last_name',
    '/email',
    '/first_name',
    '/locale',
  ]);
  const large = { email: 'large@example.com', attributes: { text: 'x'.repeat(32_760) } };
  const tooLarge = await app.call('POST', '/contacts', { body: large });
  expect(tooLarge.json.errors).toEqual([expect.objectContaining({ code: 'too_large' })]);
  expect((await app.call('GET', '/contacts/large@example.com')).status).toBe(404);
});

test('an update changes only the given fields; attributes are merged by name', async () => {
  await app.call('POST', '/contacts', { body: { ...JANE, email: 'change@example.com' } });
  const changed = await app.call('PATCH', '/contacts/change@example.com', {
    body: { last_name: null, attributes: { plan: null, address: { city: 'Graz' }, age: 30 } },
  });
  expect(changed.status).toBe(200);
  expect(changed.json).toMatchObject({ first_name: 'Jane', last_name: null, locale: 'de-AT' });
  expect(changed.json.attributes).toEqual({ address: { city: 'Graz' }, age: 30 });
  const same = await app.call('PATCH', `/contacts/${changed.json.id}`, { body: { last_name: '' } });
  expect(same.json).toEqual(changed.json);
  const none = await app.call('PATCH', '/contacts/change@example.com', {
    body: { attributes: null },
  });
  expect(none.json.attributes).toEqual({});
});

test('an address can be changed, but not to one in use', async () => {
  await app.call('POST', '/contacts', { body: { email: 'old@example.com' } });
  await app.call('POST', '/contacts', { body: { email: 'taken@example.com' } });
  const taken = await app.call('PATCH', '/contacts/old@example.com', {
    body: { email: 'Taken@example.com' },
  });
  expect([taken.status, taken.json.code]).toEqual([409, 'conflict']);
  const moved = await app.call('PATCH', '/contacts/old@example.com', {
    body: { email: 'new@example.com' },
  });
  expect([moved.status, moved.json.email]).toEqual([200, 'new@example.com']);
  expect((await app.call('GET', '/contacts/old@example.com')).status).toBe(404);
});

test('PUT creates or updates, and concurrent PUTs create one contact', async () => {
  const first = await app.call('PUT', '/contacts/put@example.com', { body: { first_name: 'P' } });
  expect([first.status, first.json.first_name]).toEqual([201, 'P']);
  const second = await app.call('PUT', '/contacts/PUT@example.com', {
    body: { attributes: { a: 1 } },
  });
  expect(second.status).toBe(200);
  expect(second.json).toMatchObject({ id: first.json.id, first_name: 'P', attributes: { a: 1 } });
  const racing = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      app.call('PUT', '/contacts/race@example.com', { body: { attributes: { [`n${n}`]: n } } }),
    ),
  );
  expect(racing.filter(({ status }) => status === 201)).toHaveLength(1);
  const raced = await app.call('GET', '/contacts/race@example.com');
  expect(Object.keys(raced.json.attributes)).toHaveLength(20);
  const wrong = await app.call('PUT', '/contacts/nobody', { body: {} });
  expect(wrong.status).toBe(422);
  expect(wrong.json.errors).toEqual([
    expect.objectContaining({ parameter: 'email', code: 'invalid_email' }),
  ]);
});

test('unknown contacts are 404', async () => {
  for (const name of ['gone@example.com', 'nobody', 'ctc_01kc8x3f7ye6qvj2m4n5p6q7r8']) {
    expect((await app.call('GET', `/contacts/${name}`)).status).toBe(404);
    expect((await app.call('PATCH', `/contacts/${name}`, { body: { locale: 'de' } })).status).toBe(
      404,
    );
    expect((await app.call('DELETE', `/contacts/${name}`)).status).toBe(404);
  }
});

test('a deleted contact no longer exists', async () => {
  await app.call('POST', '/contacts', { body: { email: 'leave@example.com' } });
  expect((await app.call('DELETE', '/contacts/Leave@example.com')).status).toBe(204);
  expect((await app.call('GET', '/contacts/leave@example.com')).status).toBe(404);
});

test('contacts of live and test mode and of two workspaces are separate', async () => {
  const key = app.liveKey;
  const body = { email: 'apart@example.com' };
  const live = await app.call('POST', '/contacts', { key, body });
  expect([live.status, live.json.mode]).toEqual([201, 'live']);
  expect((await app.call('GET', '/contacts/apart@example.com')).status).toBe(404);
  expect((await app.call('GET', `/contacts/${live.json.id}`)).status).toBe(404);
  expect((await app.call('POST', '/contacts', { body })).status).toBe(201);
  const other = await app.app.workspaces.create('Other');
  const otherKey = await app.newKey({ workspaceId: other.id, mode: 'live' });
  expect((await app.call('GET', `/contacts/${live.json.id}`, { key: otherKey })).status).toBe(404);
  expect((await app.call('DELETE', '/contacts/apart@example.com', { key: otherKey })).status).toBe(
    404,
  );
  expect((await app.call('GET', '/contacts/apart@example.com', { key })).status).toBe(200);
});

test('sends render placeholders from the contact and never create or change one', async () => {
  await app.call('PUT', '/contacts/reader@example.com', {
    body: { first_name: 'Rita', attributes: { plan: 'gold', address: { city: 'Linz' } } },
  });
  const before = await app.call('GET', '/contacts/reader@example.com');
  const send = (to: string) =>
    app.call('POST', '/transactional/send', {
      body: {
        to: { email: to, name: 'Someone Else' },
        from: { email: 'a@example.org' },
        subject: 'For {{ contact.first_name | default: "you" }}',
        html: '<p>{{ contact.plan | default: "none" }} {{ contact.address.city | default: "?" }}</p>',
      },
    });
  const sent = await Promise.all(
    ['Reader@Example.com', 'stranger@example.com', 'reader@example.com'].map(send),
  );
  const contents = await Promise.all(
    sent.map(({ json }) => app.call('GET', `/messages/${json.id}/content`)),
  );
  expect(contents.map(({ json }) => [json.subject, json.html])).toEqual([
    ['For Rita', '<p>gold Linz</p>'],
    ['For you', '<p>none ?</p>'],
    ['For Rita', '<p>gold Linz</p>'],
  ]);
  expect((await app.call('GET', '/contacts/reader@example.com')).json).toEqual(before.json);
  expect((await app.call('GET', '/contacts/stranger@example.com')).status).toBe(404);
});

/** Both changes wait for each other: the database aborts the first one. */
test('an address that is released and taken at the same moment is a conflict', async () => {
  const [mine, other] = ['mine@swap.example', 'other@swap.example'];
  for (const email of [mine, other]) await app.call('PUT', `/contacts/${email}`, { body: {} });
  // PostgreSQL rolls back whichever transaction notices the deadlock first, so a real one could
  // just as well fail the other writer.
  await app.database.pool.query(`
    create function fail_with_deadlock() returns trigger language plpgsql as
      $$ begin raise exception using errcode = 'deadlock_detected'; end $$;
    create trigger fail_with_deadlock before update on contacts for each row
      when (new.email_key = '${other}') execute function fail_with_deadlock()`);
  const answer = await app.call('PATCH', `/contacts/${mine}`, { body: { email: other } });
  expect([answer.status, answer.json.code]).toEqual([409, 'conflict']);
});
