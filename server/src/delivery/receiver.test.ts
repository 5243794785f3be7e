import { describe, expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import { leaveGate } from './ready-queue.ts';
import { Receiver } from './receiver.ts';
import { shapingErrors, createShaping } from './shaping.ts';

const SHAPING = {
  connectionsMax: 5,
  messagesPerConnectionMax: 50,
  idleMs: 10_000,
  messagesPerMinute: null,
};

describe('the pace of a receiver', () => {
  test('grows with success up to its bound, but only while the limit is used', () => {
    const receiver = new Receiver(SHAPING, new ManualClock(0), () => {});
    const { gate } = receiver;
    expect(gate.limit).toBe(4);
    receiver.succeeded();
    expect(gate.limit).toBe(4);
    for (let n = 0; n < 50; n++) {
      while (gate.hasCapacity) gate.acquire();
      receiver.succeeded();
    }
    expect(gate.limit).toBe(10);
  });

  test('is halved once when it asks for less, pauses, and opens again by itself', () => {
    const clock = new ManualClock(0);
    let opened = 0;
    const receiver = new Receiver(SHAPING, clock, () => {
      opened += 1;
    });
    const { gate } = receiver;
    for (let n = 0; n < 10; n++) receiver.throttled();
    expect(gate.limit).toBe(2);
    expect(gate.hasCapacity).toBe(false);
    clock.advance(2_000);
    expect(opened).toBe(1);
    expect(gate.hasCapacity).toBe(true);
    for (let n = 0; n < 5; n++) {
      clock.advance(3_000);
      receiver.throttled();
    }
    expect(gate.limit).toBe(1);
  });

  test('a rate lets a second of messages through at once and then spaces them', () => {
    const clock = new ManualClock(1_000_000);
    const receiver = new Receiver({ ...SHAPING, messagesPerMinute: 120 }, clock, () => {});
    const { gate } = receiver;
    const pass = () => {
      let passed = 0;
      while (gate.hasCapacity) {
        gate.acquire();
        leaveGate(gate);
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

describe('a clock that is set back', () => {
  test('opens the gate no later than it would have', () => {
    const clock = new ManualClock(10_000_000);
    let opened = 0;
    const onOpen = () => {
      opened += 1;
    };
    const receiver = new Receiver({ ...SHAPING, messagesPerMinute: 60 }, clock, onOpen);
    receiver.throttled();
    clock.setBack(3_600_000);
    expect(receiver.gate.hasCapacity).toBe(false);
    clock.advance(2_000);
    expect(opened).toBe(1);
    expect(receiver.gate.hasCapacity).toBe(true);
  });
});

describe('shaping rules', () => {
  test('large providers are known by their servers, and the operator comes first', () => {
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

  test('every mistake in an operator’s file is named', () => {
    expect(shapingErrors({ default: { connectionsMax: 3 } })).toEqual([]);
    expect(shapingErrors([1])).not.toEqual([]);
    expect(shapingErrors({ colour: 1 })[0]).toContain('colour');
    expect(shapingErrors({ receivers: [{ name: 'x', mx: 'no', connectionsMax: 0 }] })).toHaveLength(2);
  });
});
