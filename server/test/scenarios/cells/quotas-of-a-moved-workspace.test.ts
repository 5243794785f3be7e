import { expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { validMessage } from '../../harness/app.ts';
import { type Cells, move, purge, startCells, withPool } from '../../harness/database/cells.ts';

/**
 * A workspace with a quota moves, and moves back. Each cell accepts exactly what is left of the quota: no
 * message counts twice, and what a server had leased before is neither lost nor used.
 */

const LIMIT = 1_000;
/** Sent in the first cell, whose server leases a hundredth of the limit for them. */
const FIRST = 3;
const HOUR_MS = 3_600_000;

test('a quota is used exactly once, in whichever cell the workspace is', async () => {
  await using cells = await startCells(['east', 'west'], { BATCH_MAX: String(LIMIT) });
  const { workspaceId: id, liveKey: key } = cells.app('east');
  const other = cells.app('west');
  // Per month, so that no hour ends meanwhile.
  await setQuotas(cells, 'east', { messages_per_month: LIMIT });
  await setQuotas(cells, 'west', { messages_per_month: LIMIT });
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  const send = async (cell: string, messages: number, keyOfWorkspace = key) => {
    const { status, json } = await cells.app(cell).call('POST', '/transactional/batch', {
      key: keyOfWorkspace,
      body: { messages: Array.from({ length: messages }, () => validMessage({ scheduled_at })) },
    });
    return status < 300 ? 'accepted' : json.code;
  };
  for (let n = 0; n < FIRST; n += 1) expect(await send('east', 1)).toBe('accepted');

  await move(cells, id, 'east', 'west');
  // A workspace that was there before has all of its quota, though its cell skipped a part of its event log.
  expect(await send('west', LIMIT, other.liveKey)).toBe('accepted');
  const left = LIMIT - FIRST;
  expect(await send('west', left + 1)).toBe('quota_exceeded');
  expect(await send('west', left - 100)).toBe('accepted');

  await purge(cells.database, 'east', id);
  await move(cells, id, 'west', 'east');
  expect(await send('east', 101)).toBe('quota_exceeded');
  expect(await send('east', 100)).toBe('accepted');
  expect(await send('east', 1)).toBe('quota_exceeded');
}, 120_000);

async function setQuotas(cells: Cells, cell: string, body: object): Promise<void> {
  const { app, workspaceId, call } = cells.app(cell);
  await app.domains.trust(workspaceId, { name: 'example.org' });
  const { token } = await withPool(cells.database, cell, async (pool) => {
    // An hour in which servers crashed, with more leased than they used. It was counted since.
    await pool.query('insert into quota_leases (workspace_id, hour, leased) values ($1, $2, $3)', [
      workspaceId,
      new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 3 * HOUR_MS),
      LIMIT / 2,
    ]);
    return new OperatorKeys({ pool, clock: systemClock }).create({ name: 'Platform' });
  });
  const path = `/operator/workspaces/${encodeId('wsp', workspaceId)}/quotas`;
  expect((await call('PUT', path, { key: token, body })).status).toBe(200);
}
