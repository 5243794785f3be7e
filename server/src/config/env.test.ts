// Goal: signing can use all cores, however many there are. Method: read the size of the thread pool
// that is set for different machines.
import { expect, it } from 'vitest';
import { sizeThreadPool } from './env.ts';

function sizeFor(cores: number, env: NodeJS.ProcessEnv = {}): string | undefined {
  sizeThreadPool(env, cores);
  return env.UV_THREADPOOL_SIZE;
}

it('the thread pool has a thread for each core, and at least as many as Node gives it', () => {
  expect([1, 2, 4, 5, 64].map((cores) => sizeFor(cores))).toEqual(['4', '4', '4', '5', '64']);
});

it('the size that the operator sets is kept', () => {
  expect(sizeFor(64, { UV_THREADPOOL_SIZE: '8' })).toBe('8');
});
