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
  await withData(stream('123', '456'), held, async (data) => {
    expect(data.toString()).toBe('123456');
    const late = withData(stream('abc', 'def', 'g'), held, text);
    await expect(late).rejects.toMatchObject({ code: 'overloaded' });
  });
  expect(await withData(stream('12345', '67890'), held, text)).toBe('1234567890');
});

test('of two that do not fit together one is taken, however their bytes alternate', async () => {
  const held = new HeldBytes(10);
  const length = async (data: Buffer) => data.length;
  const both = [stream('1234', '5678'), stream('1234', '5678')];
  const ends = await Promise.allSettled(both.map((one) => withData(one, held, length)));
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('what a failed message held is free again', async () => {
  const held = new HeldBytes(4);
  const fail = () => Promise.reject(new Error('broken'));
  await expect(withData(stream('1234'), held, fail)).rejects.toThrow('broken');
  expect(await withData(stream('1234'), held, async (data) => data.length)).toBe(4);
});

test('a message that is too large never reaches the work', async () => {
  const large = Object.assign(stream('1234'), { sizeExceeded: true });
  const work = () => Promise.reject(new Error('must not run'));
  await expect(withData(large, new HeldBytes(10), work)).rejects.toMatchObject({
    code: 'body_too_large',
  });
});

test.each(['a\r\n.\r\nb', '.\r\n', 'a.\nb', '\n.b\n', '..\n'])('%j is an honest line', (text) => {
  expect(() => refuseSmuggling(Buffer.from(text))).not.toThrow();
});

test.each(['.\n', 'a\n.\r\nb', 'a\r.\r\n', 'a\r\n.\rb'])('%j is not', (text) => {
  expect(() => refuseSmuggling(Buffer.from(text))).toThrow('lone dot');
});
