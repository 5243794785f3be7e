import { expect, test } from 'vitest';
import { type Data, HeldBytes, refuseSmuggling, withData } from './read-data.ts';

/** What all messages in hand hold together is bounded, and what was held is given back. */

function stream(...chunks: string[]): Data {
  async function* flow(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  return Object.assign(flow(), { sizeExceeded: false });
}

test('a message beyond the bound is read to its end and put off', async () => {
  const held = new HeldBytes(10);
  const text = (data: Buffer) => Promise.resolve(data.toString());
  await withData(stream('123', '456'), held.hold('a'), async (data) => {
    expect(data.toString()).toBe('123456');
    const late = withData(stream('abc', 'def', 'g'), held.hold('a'), text);
    await expect(late).rejects.toMatchObject({ code: 'overloaded' });
  });
  expect(await withData(stream('12345', '67890'), held.hold('a'), text)).toBe('1234567890');
});

test('of two that do not fit together one is taken, however their bytes alternate', async () => {
  const held = new HeldBytes(10);
  const length = async (data: Buffer) => data.length;
  const both = [stream('1234', '5678'), stream('1234', '5678')];
  const ends = await Promise.allSettled(both.map((one) => withData(one, held.hold('a'), length)));
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('large messages leave room for others, and one owner leaves some for the next', () => {
  const MIB = 1024 * 1024;
  const held = new HeldBytes(16 * MIB);
  const first = held.hold('a');
  expect(first.take(6 * MIB)).toBe(true);
  const second = held.hold('a');
  expect(second.take(MIB / 4)).toBe(true);
  // With another one in hand it may not have more than half.
  expect(first.take(2 * MIB)).toBe(false);
  const other = held.hold('b');
  expect(other.take(5 * MIB)).toBe(true);
  // Of all of it a quarter is for beginnings.
  expect(other.take(MIB)).toBe(false);
  const small = Array.from({ length: 20 }, () => held.hold('c').take(MIB / 4));
  expect(small.filter((taken) => taken)).toHaveLength(19);
});

test('who is alone has all the room, and nobody has more', () => {
  const held = new HeldBytes(1024 * 1024);
  const only = held.hold('a');
  expect(only.take(1024 * 1024)).toBe(true);
  expect(held.hold('b').take(1)).toBe(false);
  only.release();
  expect(held.hold('b').take(1024 * 1024)).toBe(true);
});

test('what a failed message held is free again', async () => {
  const held = new HeldBytes(4);
  const fail = () => Promise.reject(new Error('broken'));
  await expect(withData(stream('1234'), held.hold('a'), fail)).rejects.toThrow('broken');
  expect(await withData(stream('1234'), held.hold('a'), async (data) => data.length)).toBe(4);
});

test('a message that is too large never reaches the work', async () => {
  const large = Object.assign(stream('1234'), { sizeExceeded: true });
  const work = () => Promise.reject(new Error('must not run'));
  await expect(withData(large, new HeldBytes(10).hold('a'), work)).rejects.toMatchObject({
    code: 'body_too_large',
  });
});

test('a beginning ends with a line, wherever it is cut', async () => {
  const held = new HeldBytes(100);
  for (const [bytesMax, kept] of [
    [2, ''],
    [6, 'one\r\n'],
    [7, 'one\r\n'],
    [8, 'one\r\n.\r\n'],
    [12, 'one\r\n.\r\n'],
    [13, 'one\r\n.\r\nthree'],
  ] as const) {
    const work = async (data: Buffer) => {
      refuseSmuggling(data);
      return data.toString();
    };
    const read = withData(stream('one\r', '\n.\r\nth', 'ree'), held.hold('a'), work, bytesMax);
    expect(await read).toBe(kept);
  }
});

test.each(['a\r\n.\r\nb', '.\r\n', 'a.\nb', '\n.b\n', '..\n'])('%j is an honest line', (text) => {
  expect(() => refuseSmuggling(Buffer.from(text))).not.toThrow();
});

test.each(['.\n', 'a\n.\r\nb', 'a\r.\r\n', 'a\r\n.\rb'])('%j is not', (text) => {
  expect(() => refuseSmuggling(Buffer.from(text))).toThrow('lone dot');
});
