import { describe, expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import { Receiver } from './receiver.ts';
import { createShaping, shapingErrors } from './shaping.ts';

const SHAPING = {
  connectionsMax: 5,
  messagesPerConnectionMax: 50,
  idleMs: 10_000,
  messagesPerMinute: null,
};

describe('the concurrency of a receiver', () => {
  test('grows with success up to its maximum, but only while the limit is used', () => {
    const receiver = new Receiver(SHAPING, new ManualClock(0), () => {});
    const { concurrency } = receiver;
    expect(concurrency.limit).toBe(4);
    receiver.succeeded();
    expect(concurrency.limit).toBe(4);
    for (let n = 0; n < 50; n++) {
      while (concurrency.hasCapacity) concurrency.acquire();
      receiver.succeeded();
    }
    expect(concurrency.limit).toBe(10);
  });

  test('is halved once when the receiver throttles, pauses, and resumes automatically', () => {
    const clock = new ManualClock(0);
    let opened = 0;
    const receiver = new Receiver(SHAPING, clock, () => {
      opened += 1;
    });
    const { concurrency } = receiver;
    for (let n = 0; n < 10; n++) receiver.throttled();
    expect(concurrency.limit).toBe(2);
    expect(concurrency.hasCapacity).toBe(false);
    clock.advance(2_000);
    expect(opened).toBe(1);
    expect(concurrency.hasCapacity).toBe(true);
    for (let n = 0; n < 5; n++) {
      clock.advance(3_000);
      receiver.throttled();
    }
    expect(concurrency.limit).toBe(1);
  });

  test('a rate allows a burst of one second and then spaces messages', () => {
    const clock = new ManualClock(1_000_000);
    const receiver = new Receiver({ ...SHAPING, messagesPerMinute: 120 }, clock, () => {});
    const { concurrency } = receiver;
    const pass = () => {
      let passed = 0;
      while (concurrency.hasCapacity) {
        concurrency.acquire();
        concurrency.release();
        passed += 1;
      }
      return passed;
    };
    expect(pass()).toBeLessThanOrEqual(4);
    let inAMinute = 0;
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      inAMinute += pass();
    }
    expect(inAMinute).toBeGreaterThan(110);
    expect(inAMinute).toBeLessThanOrEqual(121);
  });
});

describe('a clock set back', () => {
  test('does not extend the pause', () => {
    const clock = new ManualClock(10_000_000);
    let opened = 0;
    const onOpen = () => {
      opened += 1;
    };
    const receiver = new Receiver({ ...SHAPING, messagesPerMinute: 60 }, clock, onOpen);
    receiver.throttled();
    clock.setBack(3_600_000);
    expect(receiver.concurrency.hasCapacity).toBe(false);
    clock.advance(2_000);
    expect(opened).toBe(1);
    expect(receiver.concurrency.hasCapacity).toBe(true);
  });
});

describe('shaping rules', () => {
  test('large providers are recognized by their servers, and the operator’s rules come first', () => {
    expect(createShaping()('aspmx.l.google.com').messagesPerConnectionMax).toBe(100);
    expect(createShaping()('mx.unknown.example').connectionsMax).toBe(20);
    const own = createShaping({
      default: { connectionsMax: 7 },
      receivers: [{ name: 'Google', mx: ['*.google.com'], connectionsMax: 1 }],
    });
    expect(own('aspmx.l.google.com').connectionsMax).toBe(1);
    expect(own('mx.unknown.example').connectionsMax).toBe(7);
    expect(own('evilgoogle.com').connectionsMax).toBe(7);
  });

  test('reports every error in an operator’s file', () => {
    expect(shapingErrors({ default: { connectionsMax: 3 } })).toEqual([]);
    expect(shapingErrors([1])).not.toEqual([]);
    expect(shapingErrors({ color: 1 })[0]).toContain('color');
    expect(shapingErrors({ receivers: [{ name: 'x', mx: 'no', connectionsMax: 0 }] })).toHaveLength(
      2,
    );
  });
});
