import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { afterEach, expect, test, vi } from 'vitest';
import { lines, listTime, paint, paintState, render, styled, table } from './terminal.ts';

const pipe = new PassThrough() as unknown as NodeJS.WriteStream;
/** The machine that runs the tests may say otherwise, as continuous integration does with CI. */
const terminal = Object.assign(new PassThrough(), {
  isTTY: true,
  getColorDepth: () =>
    WriteStream.prototype.getColorDepth({
      TERM: 'xterm-256color',
      NO_COLOR: process.env.NO_COLOR,
    }),
}) as unknown as NodeJS.WriteStream;

afterEach(() => void vi.unstubAllEnvs());

test('text is colored on a terminal only, and not with NO_COLOR', () => {
  vi.stubEnv('NO_COLOR', undefined);
  vi.stubEnv('FORCE_COLOR', undefined);
  const text = styled`a ${paint('red', 'b')}`;
  expect(render(text, terminal)).toBe('a \x1b[31mb\x1b[39m');
  expect(render(text, pipe)).toBe('a b');
  vi.stubEnv('NO_COLOR', '1');
  expect(render(text, terminal)).toBe('a b');
});

test('control characters of names never reach the terminal', () => {
  const name = 'x\x1b[2J\x9b31m';
  const texts = [name, paint('red', name), styled`${name}`, lines([name]), table(['A'], [[name]])];
  for (const text of texts) expect(render(text, pipe)).toContain('x\ufffd[2J\ufffd31m');
  expect(render(table(['A', 'B'], [['a\nb', 'c']]), pipe)).toBe('A    B\na\ufffdb  c');
});

test('a table is as wide as its cells, and fits a narrower terminal without its id', () => {
  const heading = ['ID', 'STATUS', 'SUBJECT'];
  const row = ['msg_01kc8x3f7ye6qvj2m4n5p6q7r8', paintState('delivered'), 'A long subject line'];
  const rowOf = (width?: number) => render(table(heading, [row], width), pipe).split('\n')[1];
  expect(rowOf()).toBe('msg_01kc8x3f7ye6qvj2m4n5p6q7r8  delivered  A long subject line');
  expect(rowOf(55)).toBe('msg_01kc8x3f7ye6qvj2m4n5p6q7r8  delivered  A long subj…');
  expect(rowOf(20)).toBe('msg_01kc8x3f7ye6qvj2m4n5p6q7r8  delivered  A long …');
});

test('a table shows ages on a terminal, and times elsewhere', () => {
  const now = Date.parse('2026-11-18T12:00:00.000Z');
  const age = (iso: string) => listTime(iso, now, true);
  expect(age('2026-11-18T11:59:59.500Z')).toBe('0s ago');
  expect(age('2026-11-18T11:48:00.000Z')).toBe('12m ago');
  expect(age('2026-11-16T11:00:00.000Z')).toBe('2d ago');
  expect(age('2026-11-25T12:00:00.000Z')).toBe('in 7d');
  expect(age('2026-06-01T12:00:00.000Z')).toBe('2026-06-01');
  expect(listTime('2026-11-18T11:48:00.000Z', now, false)).toBe('2026-11-18 11:48:00Z');
});
