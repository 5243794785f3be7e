import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { Receiver, type ReceiverOptions, type Throttle } from './receiver.ts';
import { createShaping, shapingErrors } from './shaping.ts';

const SHAPING = {
  provider: null,
  connectionsMax: 5,
  messagesPerConnectionMax: 50,
  idleMs: 10_000,
  messagesPerMinute: null,
};

describe('the concurrency of a receiver', () => {
  test('grows with success up to its maximum, but only while the limit is used', () => {
    const receiver = receiverWith({});
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
    const onCapacity = () => {
      opened += 1;
    };
    const receiver = receiverWith({ clock, onCapacity });
    const { concurrency } = receiver;
    for (let n = 0; n < 10; n++) receiver.throttled(0);
    expect(concurrency.limit).toBe(2);
    expect(concurrency.hasCapacity).toBe(false);
    clock.advance(2_000);
    expect(opened).toBe(1);
    expect(concurrency.hasCapacity).toBe(true);
    // A late reply to an attempt from before the pause says nothing new.
    receiver.throttled(0);
    expect(concurrency.hasCapacity).toBe(true);
    receiver.throttled(clock.now());
    expect(concurrency.limit).toBe(1);
  });

  test('pauses grow while nothing succeeds, and each success takes back one step', () => {
    const clock = new ManualClock(0);
    const changes: Throttle[] = [];
    const receiver = receiverWith({ clock, onThrottleChange: (change) => changes.push(change) });
    const pauses: number[] = [];
    const probe = () => {
      receiver.throttled(clock.now());
      const pauseMs = receiver.throttle.pausedUntilMs - clock.now();
      receiver.succeeded();
      clock.advance(pauseMs);
      pauses.push(pauseMs / 1000);
    };
    for (let n = 0; n < 8; n++) probe();
    expect(pauses).toEqual([2, 6, 18, 54, 162, 486, 600, 600]);
    for (let n = 0; n < 5; n++) receiver.succeeded();
    expect(receiver.throttle.level).toBe(2);
    expect(receiver.concurrency.limit).toBe(1);
    probe();
    expect(pauses.at(-1)).toBe(18);
    for (let n = 0; n < 3; n++) receiver.succeeded();
    expect(changes.at(-1)).toMatchObject({ receiver: 'mx.example', level: 0 });
    while (receiver.concurrency.hasCapacity) receiver.concurrency.acquire();
    receiver.succeeded();
    expect(receiver.concurrency.limit).toBe(2);
  });

  test('a throttle of an earlier process continues where it was', () => {
    const clock = new ManualClock(1_000_000);
    const receiver = receiverWith({ clock });
    const pausedUntilMs = clock.now() + 30_000;
    receiver.resumeThrottle({ receiver: 'mx.example', level: 4, pausedUntilMs });
    expect(receiver.concurrency.hasCapacity).toBe(false);
    clock.advance(30_000);
    expect(receiver.concurrency.hasCapacity).toBe(true);
    expect(receiver.concurrency.limit).toBe(1);
    receiver.throttled(clock.now());
    expect(receiver.throttle.pausedUntilMs - clock.now()).toBe(162_000);
  });

  test('a rate allows a burst of one second and then spaces messages', () => {
    const clock = new ManualClock(1_000_000);
    const receiver = receiverWith({ clock, shaping: { ...SHAPING, messagesPerMinute: 120 } });
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
    const onCapacity = () => {
      opened += 1;
    };
    const shaping = { ...SHAPING, messagesPerMinute: 60 };
    const receiver = receiverWith({ clock, shaping, onCapacity });
    receiver.throttled(clock.now());
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

  test('Microsoft 365 is one provider, whatever server name a customer has', () => {
    for (const host of ['acme-com.mail.protection.outlook.com', 'acme-com.b-v1.mx.microsoft']) {
      expect(createShaping()(host)).toMatchObject({ provider: 'Microsoft', connectionsMax: 15 });
    }
    expect(createShaping()('mx.unknown.example').provider).toBeNull();
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

function receiverWith(options: Partial<ReceiverOptions>): Receiver {
  return new Receiver({
    name: 'mx.example',
    shaping: SHAPING,
    clock: new ManualClock(0),
    onCapacity: () => {},
    ...options,
  });
}
