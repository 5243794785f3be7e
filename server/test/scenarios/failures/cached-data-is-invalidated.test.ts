import { expect, test } from 'vitest';
import { operatorIssuer } from '../../../src/accounts/api-keys.ts';
import { Workspaces } from '../../../src/accounts/workspaces.ts';
import { parseDatabaseUrl } from '../../../src/db/connections/database-url.ts';
import { listen } from '../../../src/db/connections/listen.ts';
import type { NotificationChannel } from '../../../src/db/connections/notification-channels.ts';
import { decodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { closeWorkspace, reopenWorkspace } from '../../../src/privacy/close-workspace.ts';
import { WorkspacePurges } from '../../../src/privacy/workspace-purges.ts';
import { NO_POLICY } from '../../../src/quotas/brake.ts';
import { NO_QUOTAS } from '../../../src/quotas/quota.ts';
import { saveQuotas } from '../../../src/quotas/quota-store.ts';
import { WorkspaceBrakes } from '../../../src/quotas/workspace-brakes.ts';
import { startApp } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/**
 * Nodes cache for an hour what messages need to know about their workspace. Every change of it must
 * therefore notify them.
 */
async function setUp() {
  const app = await startApp();
  const received = new Set<string>();
  const listener = listen({ hosts: parseDatabaseUrl(app.database.url), log: silentLog });
  const channels = ['accounts', 'domains', 'quotas', 'streams', 'templates'] as const;
  for (const channel of channels) {
    listener.on(channel, (id) => received.add(`${channel} ${id}`));
  }
  await listener.ready;
  /** Makes a change, and waits for its notifications. */
  const notifies = async <T>(
    change: () => Promise<T>,
    wanted: readonly NotificationChannel[],
    id = app.workspaceId,
  ): Promise<T> => {
    received.clear();
    const result = await change();
    await until(() => wanted.every((channel) => received.has(`${channel} ${id}`)), {
      what: `a notification of ${change}`,
    });
    return result;
  };
  return {
    app,
    pool: app.database.pool,
    channels,
    notifies,
    async [Symbol.asyncDispose]() {
      await listener.stop();
      await app[Symbol.asyncDispose]();
    },
  };
}

test('changes of keys, domains, streams, templates, quotas and suspensions notify nodes', async () => {
  await using setup = await setUp();
  const { app, pool, notifies } = setup;
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await app.call(method, path, {
      key: app.liveKey,
      ...(body === undefined ? {} : { body }),
    });
    expect(response.status, `${method} ${path}`).toBeLessThan(300);
    return response.json;
  };
  const issuer = operatorIssuer(app.workspaceId);
  const { apiKeys, domains } = app.app;

  const { key } = await notifies(
    () => apiKeys.create(issuer, { name: 'one', mode: 'live' }),
    ['accounts'],
  );
  await notifies(() => apiKeys.change(issuer, key.id, { scopes: ['read:messages'] }), ['accounts']);
  await notifies(() => apiKeys.rotate(issuer, key.id, 0), ['accounts']);
  await notifies(() => apiKeys.revoke(issuer, key.id), ['accounts']);

  const added = await notifies(() => call('POST', '/domains', { name: 'shop.test' }), ['domains']);
  const trust = () => domains.trust(app.workspaceId, { name: 'shop.test' });
  await notifies(trust, ['domains']);
  await notifies(() => call('PATCH', `/domains/${added.id}`, { tls: 'required' }), ['domains']);
  const domainId = decodeId('dom', added.id) as string;
  const owner = { workspaceId: app.workspaceId, actor: 'test' };
  await notifies(() => domains.rotateDkim(owner, domainId), ['domains']);
  await notifies(() => domains.remove(owner, domainId), ['domains']);

  const stream = { key: 'news', name: 'News', purpose: 'subscription' };
  await notifies(() => call('POST', '/streams', stream), ['streams']);
  await notifies(() => call('PATCH', '/streams/news', { name: 'Newsletter' }), ['streams']);
  await notifies(() => call('DELETE', '/streams/news'), ['streams']);

  const template = { key: 'hello', name: 'Hello', subject: 'Hi', html: '<p>Hi</p>' };
  await notifies(() => call('POST', '/templates', template), ['templates']);
  await notifies(() => call('POST', '/templates/hello/publish', {}), ['templates']);
  await notifies(() => call('DELETE', '/templates/hello'), ['templates']);

  const quotas = { ...NO_QUOTAS, messages_per_hour: 5 };
  await notifies(() => saveQuotas(pool, app.workspaceId, quotas), ['quotas']);
  const settings = {} as ConstructorParameters<typeof WorkspaceBrakes>[0]['settings'];
  const brakes = new WorkspaceBrakes({ pool, clock: new ManualClock(Date.now()), settings });
  await notifies(() => brakes.setPolicy(app.workspaceId, NO_POLICY), ['quotas']);

  const { workspaces } = app.app;
  await workspaces.create('Another');
  const workspace = await workspaces.get(app.workspaceId);
  const suspended = await notifies(() => workspaces.suspend(workspace, 'Spam.'), ['domains']);
  const resumed = await notifies(() => workspaces.resume(suspended), ['domains']);
  const deleted = await notifies(
    () => workspaces.scheduleDeletion(resumed, Date.now() + 86_400_000),
    ['domains'],
  );
  await notifies(() => workspaces.restore(deleted), ['domains']);
});

test('a workspace that is purged, or opened after a move, notifies nodes of everything', async () => {
  await using setup = await setUp();
  const { app, pool, channels, notifies } = setup;
  const clock = new ManualClock(Date.now());
  const close = () =>
    closeWorkspace(
      { pool, clock, stillAlone: async () => {}, onStep: async () => {} },
      app.workspaceId,
    );
  await notifies(close, ['accounts', 'domains']);
  await notifies(() => reopenWorkspace(pool, app.workspaceId), channels);

  const workspaces = new Workspaces({ pool, clock });
  const other = await workspaces.create('Other');
  await workspaces.scheduleDeletion(other, clock.now() + 1_000);
  clock.advance(2_000);
  const purges = new WorkspacePurges({ pool, clock, log: silentLog });
  await notifies(() => purges.work(), channels, other.id);
});
