import { expect, test } from 'vitest';
import { parseTranscript, serializeTranscript, TranscriptRecorder } from './transcript.ts';

test('lines have a side and the milliseconds since the start', () => {
  const recorder = new TranscriptRecorder(1_000);
  recorder.add(1_000, 'client', 'MAIL FROM:<>');
  recorder.addAll(1_042, 'server', ['250-a', '250 b']);
  expect(recorder.finish()).toEqual({
    startedAt: 1_000,
    lines: [
      { atMs: 0, by: 'client', text: 'MAIL FROM:<>' },
      { atMs: 42, by: 'server', text: '250-a' },
      { atMs: 42, by: 'server', text: '250 b' },
    ],
  });
});

test('the beginning and the end of a long transcript are kept', () => {
  const recorder = new TranscriptRecorder(0);
  for (let i = 1; i <= 5_000; i++) recorder.add(i, 'server', `250-${i}`);
  const { lines } = recorder.finish();
  expect(lines).toHaveLength(200);
  expect(lines[0]?.text).toBe('250-1');
  expect(lines[149]?.text).toBe('250-150');
  expect(lines[150]).toEqual({ atMs: 150, by: 'note', text: '(4801 lines omitted)' });
  expect(lines[151]?.text).toBe('250-4952');
  expect(lines[199]?.text).toBe('250-5000');
});

test('a long line is truncated', () => {
  const recorder = new TranscriptRecorder(0);
  recorder.add(0, 'server', 'x'.repeat(2_000));
  expect(recorder.finish().lines[0]?.text).toHaveLength(500);
});

test('a transcript survives serialization', () => {
  const said = {
    startedAt: 1_794_739_120_741,
    lines: [
      { atMs: 0, by: 'note' as const, text: '(connection reused, message 2)' },
      { atMs: 3, by: 'client' as const, text: 'RCPT TO:<"a > b"@example.org>' },
      { atMs: 45, by: 'server' as const, text: '250' },
      { atMs: 45, by: 'server' as const, text: '' },
    ],
  };
  expect(parseTranscript(serializeTranscript(said))).toEqual(said);
  expect(parseTranscript(serializeTranscript({ startedAt: 7, lines: [] }))).toEqual({
    startedAt: 7,
    lines: [],
  });
});

test('a line break inside a line does not start another line', () => {
  const lines = [{ atMs: 0, by: 'note' as const, text: 'broken\n0 < 250 ok' }];
  const read = parseTranscript(serializeTranscript({ startedAt: 0, lines }));
  expect(read.lines).toEqual([{ atMs: 0, by: 'note', text: 'broken 0 < 250 ok' }]);
});
