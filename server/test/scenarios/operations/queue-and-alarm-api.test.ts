import { expect, test } from 'vitest';
import { startApp } from '../../harness/app.ts';
import { enqueue, newWorkspace } from '../../harness/database/enqueue-messages.ts';

/**
 * The API shows the queue and the raised alarms of the caller's workspace and mode. Rows are inserted
 * directly; no node delivers.
 */

const HOUR_MS = 3_600_000;

test('the queue is counted by status, with its oldest message', async () => {
  await using app = await startApp({ env: { ROLES: 'api' } });
  const { pool } = app.database;
  const nowMs = Date.now();
  const { workspaceId } = app;
  const queue = async (key: string) => (await app.call('GET', '/queue', { key })).json;
  const nothing = { queued: 0, deferred: 0, scheduled: 0, oldest_due_at: null, more: false };
  expect(await queue(app.liveKey)).toEqual(nothing);

  const soon = nowMs + HOUR_MS;
  const late = nowMs - HOUR_MS;
  const otherWorkspace = await newWorkspace(pool, nowMs);
  await enqueue(pool, [
    { workspaceId, nowMs, recipients: ['a@example.com', 'b@example.com'], dueAtMs: late },
    { workspaceId, nowMs, recipients: ['c@example.com'], status: 'deferred', dueAtMs: soon },
    { workspaceId, nowMs, recipients: ['d@example.com'], status: 'scheduled', dueAtMs: soon },
    { workspaceId, nowMs, mode: 'test', recipients: ['e@example.com'], dueAtMs: soon },
    { workspaceId: otherWorkspace, nowMs, recipients: ['f@example.com'], dueAtMs: late - HOUR_MS },
  ]);
  expect(await queue(app.liveKey)).toEqual({
    queued: 2,
    deferred: 1,
    scheduled: 1,
    oldest_due_at: new Date(late).toISOString(),
    more: false,
  });
  expect(await queue(app.testKey)).toEqual({ ...nothing, queued: 1 });
});

test('raised alarms are listed until they end', async () => {
  await using app = await startApp({ env: { ROLES: 'api' } });
  const { pool } = app.database;
  const alarms = async (key: string) => (await app.call('GET', '/alarms', { key })).json.data;
  expect(await alarms(app.liveKey)).toEqual([]);
  const raise = (mode: string, kind: string, subject: string, at: string) =>
    pool.query('insert into alarms values ($1, $2, $3, $4, $5)', [
      app.workspaceId,
      mode,
      kind,
      subject,
      at,
    ]);
  await raise('live', 'bounce_rate', 'a.example', '2026-11-15T09:00:00Z');
  await raise(
    'live',
    'webhook_failing',
    '01900000-0000-7000-8000-000000000001',
    '2026-11-15T10:00:00Z',
  );
  await raise('test', 'queue_age', '', '2026-11-15T09:00:00Z');
  expect(await alarms(app.liveKey)).toEqual([
    {
      kind: 'webhook_failing',
      subject: expect.stringMatching(/^whk_/),
      stream: null,
      raised_at: '2026-11-15T10:00:00.000Z',
      explanation: 'A webhook endpoint has been failing for too long.',
    },
    {
      kind: 'bounce_rate',
      subject: 'a.example',
      stream: null,
      raised_at: '2026-11-15T09:00:00.000Z',
      explanation: 'The bounce rate of a.example is too high.',
    },
  ]);
  expect(await alarms(app.testKey)).toMatchObject([{ kind: 'queue_age', subject: null }]);
  await raise('live', 'stream_complaint_rate', 'digest', '2026-11-15T11:00:00Z');
  const ofStream = async (stream: string) =>
    (await app.call('GET', `/alarms?stream=${stream}`, { key: app.liveKey })).json.data;
  expect(await ofStream('digest')).toMatchObject([{ subject: 'digest', stream: 'digest' }]);
  expect(await ofStream('news')).toEqual([]);
  await pool.query('delete from alarms');
  expect(await alarms(app.liveKey)).toEqual([]);
});
