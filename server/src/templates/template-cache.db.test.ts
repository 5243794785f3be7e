import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { newWorkspace } from '../../test/harness/database/enqueue-messages.ts';
import { systemClock } from '../lib/time/clock.ts';
import { TemplateCache } from './template-cache.ts';
import { Templates } from './templates.ts';

/**
 * Goal: compiled templates are reused exactly as long as they are current. Method: a cache that receives
 * no notifications, so that only this node's own invalidations count.
 */

let database: TestDatabase;
let workspaceId: string;
let cache: TemplateCache;
let templates: Templates;

beforeAll(async () => {
  database = await createTestDatabase();
  const { pool } = database;
  const clock = systemClock;
  workspaceId = await newWorkspace(pool, clock.now());
  cache = new TemplateCache({ pool, clock, maxAgeMs: () => 60_000 });
  const changed = (id: string) => cache.invalidateWorkspace(id);
  templates = new Templates({ pool, clock, onChange: changed });
});
afterAll(() => database[Symbol.asyncDispose]());

const author = () => ({ workspaceId, actor: 'test' });
const resolve = (key: string, version?: number | 'draft') =>
  Promise.resolve(cache.resolve({ workspaceId }, { key, version }));

async function published(kind: 'template' | 'layout' | 'partial', fields: object): Promise<void> {
  const { key } = await templates.create(author(), kind, fields as Record<string, unknown>);
  await templates.publish(author(), kind, key, {});
}

test('the next send sees a change made on this node, and publishing other templates costs no parsing', async () => {
  await published('partial', { key: 'p', html: 'p1' });
  await published('layout', { key: 'l', html: '{{ content }}{% render "p" %}' });
  await published('template', { key: 'a', subject: 'A1', html: 'x', layout: 'l' });
  await published('template', { key: 'b', subject: 'B1', html: 'x' });
  const [a, b] = [await resolve('a'), await resolve('b')];
  expect(cache.resolve({ workspaceId }, { key: 'a', version: undefined })).toBe(a);

  await templates.change(author(), 'template', 'a', { subject: 'A2' });
  expect((await resolve('a')) === a).toBe(true);
  await templates.publish(author(), 'template', 'a', {});
  expect((await resolve('a')).version).toBe(2);
  expect((await resolve('a', 1)) === a).toBe(true);
  expect((await resolve('b')) === b).toBe(true);

  await templates.change(author(), 'partial', 'p', { html: 'p2' });
  await templates.publish(author(), 'partial', 'p', {});
  expect((await resolve('a', 1)) === a).toBe(false);
  expect((await resolve('b')) === b).toBe(true);
  await templates.publish(author(), 'partial', 'p', { version: 1 });
  expect((await resolve('a', 1)) === a).toBe(true);
});

test('drafts are identified by revision', async () => {
  await published('template', { key: 'd', subject: 'D', html: 'x' });
  const first = await resolve('d', 'draft');
  expect((await resolve('d', 'draft')) === first).toBe(true);
  await templates.change(author(), 'template', 'd', { subject: 'D2' });
  const second = await resolve('d', 'draft');
  expect(second === first).toBe(false);
  expect(second.version).toBe('draft');
});

test('a missing template is found once it exists', async () => {
  await expect(resolve('late')).rejects.toMatchObject({ code: 'template_not_found' });
  await templates.create(author(), 'template', { key: 'late', subject: 'S', html: 'x' });
  await expect(resolve('late')).rejects.toThrow('is not published yet');
  await templates.publish(author(), 'template', 'late', {});
  expect((await resolve('late')).version).toBe(1);
  await templates.remove(author(), 'template', 'late', { force: false });
  await expect(resolve('late')).rejects.toThrow('There is no template "late"');
  await templates.create(author(), 'template', { key: 'late', subject: 'Anew', html: 'x' });
  await templates.publish(author(), 'template', 'late', {});
  const words = (await resolve('late')).inLocale(undefined).subject.source;
  expect(words).toBe('Anew');
});

test('concurrent requests for an uncompiled template share one read', async () => {
  await published('template', { key: 'many', subject: 'S', html: 'x' });
  const all = await Promise.all(Array.from({ length: 50 }, () => resolve('many')));
  expect(new Set(all).size).toBe(1);
});

test('workspaces are isolated', async () => {
  const foreign = await newWorkspace(database.pool, systemClock.now());
  const loading = Promise.resolve().then(() =>
    cache.resolve({ workspaceId: foreign }, { key: 'a', version: undefined }),
  );
  await expect(loading).rejects.toMatchObject({ code: 'template_not_found' });
});
