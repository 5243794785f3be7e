import { expect, test } from 'vitest';
import { embeddedSettings } from './postgres-settings.ts';

test.each([
  [512, '256MB', '1024MB'],
  [8_192, '512MB', '4096MB'],
  [65_536, '1024MB', '32768MB'],
])('with %i MiB of memory, PostgreSQL has %s of buffers', (memoryMiB, buffers, cache) => {
  expect(embeddedSettings(memoryMiB * 1024 ** 2)).toMatchObject({
    shared_buffers: buffers,
    effective_cache_size: cache,
    fsync: 'on',
  });
});
