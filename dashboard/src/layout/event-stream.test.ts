import { expect, test } from 'vitest';
import { parseStream } from './event-stream.ts';

/** The stream arrives in chunks that can be split anywhere. */

const STREAM = [
  'retry: 2000\n\n',
  'id: one\ndata: {"id":"evt_1","type":"message.accepted"}\n\n',
  'id: two\n: still here\n\n',
  'id: three\ndata: {"id":"evt_2","type":"message.delivered"}\n\n',
].join('');

test('wherever a chunk ends, each event is parsed once and the last ID is known', () => {
  for (let at = 0; at <= STREAM.length; at += 1) {
    const first = parseStream(STREAM.slice(0, at));
    const second = parseStream(first.rest + STREAM.slice(at));
    const ids = [...first.events, ...second.events].map(({ id }) => id);
    expect(ids, `cut at ${at}`).toEqual(['evt_1', 'evt_2']);
    expect(second.lastId ?? first.lastId).toBe('three');
    expect(second.rest).toBe('');
  }
});

test('a heartbeat updates the last ID without an event', () => {
  expect(parseStream('id: two\n: still here\n\n')).toEqual({
    events: [],
    lastId: 'two',
    rest: '',
  });
});
