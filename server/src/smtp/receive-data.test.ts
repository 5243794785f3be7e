import { expect, test } from 'vitest';
import { MemoryBudget } from '../lib/memory/memory-budget.ts';
import { withReceivedData } from './receive-data.ts';

/** The memory of all messages that are being received is limited, and always released. */

function stream(...chunks: string[]): AsyncGenerator<Buffer> & { sizeExceeded: boolean } {
  async function* flow(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  return Object.assign(flow(), { sizeExceeded: false });
}

test('a message over the limit is read to its end and deferred', async () => {
  const memory = new MemoryBudget(10);
  const text = (data: Buffer) => Promise.resolve(data.toString());
  await withReceivedData(stream('123', '456'), memory.reserve('a'), async (data) => {
    expect(data.toString()).toBe('123456');
    const late = withReceivedData(stream('abc', 'def', 'g'), memory.reserve('a'), text);
    await expect(late).rejects.toMatchObject({ code: 'overloaded' });
  });
  expect(await withReceivedData(stream('12345', '67890'), memory.reserve('a'), text)).toBe(
    '1234567890',
  );
});

test('of two messages that do not fit together one is accepted, however their chunks interleave', async () => {
  const memory = new MemoryBudget(10);
  const length = async (data: Buffer) => data.length;
  const both = [stream('1234', '5678'), stream('1234', '5678')];
  const ends = await Promise.allSettled(
    both.map((one) => withReceivedData(one, memory.reserve('a'), length)),
  );
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('a failed message releases its memory', async () => {
  const memory = new MemoryBudget(4);
  const fail = () => Promise.reject(new Error('broken'));
  await expect(withReceivedData(stream('1234'), memory.reserve('a'), fail)).rejects.toThrow(
    'broken',
  );
  expect(
    await withReceivedData(stream('1234'), memory.reserve('a'), async (data) => data.length),
  ).toBe(4);
});

test('a message that is too large is never processed', async () => {
  const large = Object.assign(stream('1234'), { sizeExceeded: true });
  const work = () => Promise.reject(new Error('must not run'));
  await expect(
    withReceivedData(large, new MemoryBudget(10).reserve('a'), work),
  ).rejects.toMatchObject({
    code: 'body_too_large',
  });
});

test('a truncated message ends with a complete line', async () => {
  const memory = new MemoryBudget(100);
  for (const [bytesMax, kept] of [
    [2, ''],
    [6, 'one\r\n'],
    [7, 'one\r\n'],
    [8, 'one\r\n.\r\n'],
    [12, 'one\r\n.\r\n'],
    [13, 'one\r\n.\r\nthree'],
  ] as const) {
    const work = async (data: Buffer) => data.toString();
    const read = withReceivedData(
      stream('one\r', '\n.\r\nth', 'ree'),
      memory.reserve('a'),
      work,
      bytesMax,
    );
    expect(await read).toBe(kept);
  }
});
