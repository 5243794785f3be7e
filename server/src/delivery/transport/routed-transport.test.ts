import { expect, test } from 'vitest';
import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { Message, Transport } from '../delivery.ts';
import type { Throttle } from '../receivers/receiver.ts';
import { routedTransport, throttlesOf } from './routed-transport.ts';

/** Each named route has a transport of its own; everything else takes the standard one. */

function transportNamed(name: string, log: string[]): Transport {
  const limit = new ConcurrencyLimit(1);
  return {
    needsContent: true,
    limitFor: () => limit,
    attempt: async () => {
      log.push(name);
      return [];
    },
    abort: () => log.push(`${name} aborted`),
    close: async () => {
      log.push(`${name} closed`);
    },
  };
}

test('mail takes the route of its stream, or the standard one', async () => {
  const log: string[] = [];
  const [standard, bulk] = [transportNamed('standard', log), transportNamed('bulk', log)];
  const routed = routedTransport(standard, new Map([['bulk', bulk]]));
  for (const route of [null, 'bulk', 'removed']) {
    await routed.attempt({ route } as Message, [], () => true, new ConcurrencyLimit(1));
  }
  expect(log).toEqual(['standard', 'bulk', 'standard']);
  const limitOf = (route: string | null) => routed.limitFor('a.example', 'w', route);
  expect(limitOf('bulk')).toBe(bulk.limitFor('a.example', 'w', 'bulk'));
  expect(limitOf(null)).toBe(standard.limitFor('a.example', 'w', null));
  expect(limitOf('removed')).toBe(limitOf(null));
  log.length = 0;
  routed.abort();
  await routed.close();
  expect(log).toEqual(['standard aborted', 'bulk aborted', 'standard closed', 'bulk closed']);
  expect(routedTransport(standard, new Map())).toBe(standard);
});

test('capacity is reported by every route, and throttled receivers are counted together', () => {
  const [standard, bulk] = [transportNamed('standard', []), transportNamed('bulk', [])];
  const routed = routedTransport(standard, new Map([['bulk', bulk]]));
  let capacity = 0;
  const counts: number[] = [];
  routed.onCapacity = () => {
    capacity += 1;
  };
  routed.onThrottleChange = (count) => counts.push(count);
  standard.onCapacity?.();
  bulk.onCapacity?.();
  standard.onThrottleChange?.(2);
  bulk.onThrottleChange?.(1);
  standard.onThrottleChange?.(0);
  expect(capacity).toBe(2);
  expect(counts).toEqual([2, 3, 1]);
});

test('throttles of routes are stored apart', async () => {
  const stored = new Map<string, Throttle>();
  const memory = {
    load: async () => [...stored.values()],
    save: (throttle: Throttle) => void stored.set(throttle.receiver, throttle),
  };
  const throttle = (level: number) => ({ receiver: 'relay a:25', level }) as Throttle;
  throttlesOf(memory, null).save(throttle(1));
  throttlesOf(memory, 'bulk').save(throttle(2));
  expect(await throttlesOf(memory, null).load()).toEqual([throttle(1)]);
  expect(await throttlesOf(memory, 'bulk').load()).toEqual([throttle(2)]);
  expect(await throttlesOf(memory, 'other').load()).toEqual([]);
});
