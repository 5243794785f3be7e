import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemTime } from './time.ts';

/** Waits leave nothing behind: no timer that keeps the process alive, no listener on the signal. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a wait ends on time and removes its abort listener', async () => {
  const { signal } = new AbortController();
  const waiting = systemTime.wait(1_000, signal);
  await vi.advanceTimersByTimeAsync(999);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('an abort ends a wait immediately and clears its timer', async () => {
  const abort = new AbortController();
  const waiting = systemTime.wait(1_000, abort.signal);
  const reason = new Error('enough');
  abort.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test('a wait with an aborted signal rejects immediately', async () => {
  const reason = new Error('enough');
  await expect(systemTime.wait(1_000, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test('an infinite wait does not end immediately', async () => {
  const abort = new AbortController();
  const waiting = systemTime.wait(Number.POSITIVE_INFINITY, abort.signal);
  const ended = vi.fn();
  void waiting.then(ended, () => {});
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(ended).not.toHaveBeenCalled();
  abort.abort();
  await expect(waiting).rejects.toBe(abort.signal.reason);
});
