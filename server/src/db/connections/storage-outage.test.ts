import { expect, test } from 'vitest';
import type { Log } from '../../lib/log.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { StorageOutage } from './storage-outage.ts';

function setup() {
  const clock = new ManualClock(0);
  const lines: object[] = [];
  const warn = (fields: object, text: string) => lines.push({ ...fields, text });
  return { clock, lines, outage: new StorageOutage({ clock, log: { warn } as unknown as Log }) };
}

test('logs the first refusal, and the end with the number of them', () => {
  const { clock, lines, outage } = setup();
  const error = new Error('Connection terminated');
  for (let n = 1; n <= 1000; n += 1) {
    outage.refused(error, { request_id: `req_${n}` });
    clock.advance(10);
    // Some requests succeed meanwhile.
    outage.stored();
  }
  expect(lines).toEqual([{ err: error, request_id: 'req_1', text: 'database unavailable' }]);
  clock.advance(5_000);
  outage.stored();
  outage.stored();
  expect(lines.slice(1)).toEqual([
    { refused: 1000, seconds: 10, text: 'database available again' },
  ]);
  outage.refused(error, { listener: 'submission' });
  expect(lines).toHaveLength(3);
});

test('remembers a full disk for a few seconds', () => {
  const { clock, outage } = setup();
  outage.refused(Object.assign(new Error('no space'), { code: '08006' }), {});
  expect(outage.diskIsFull).toBe(false);
  outage.refused(Object.assign(new Error('no space'), { code: '53100' }), {});
  expect(outage.diskIsFull).toBe(true);
  clock.advance(5_000);
  expect(outage.diskIsFull).toBe(false);
});
