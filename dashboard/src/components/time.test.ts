import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { dateAndTime, ExactTime, relativeTime, upcomingTime } from './time.tsx';

const NOW = Date.parse('2026-11-15T09:00:00Z');
const after = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

test.each([
  [-60, '1 minute ago', 'shortly'],
  [-5, 'just now', 'shortly'],
  [5, 'just now', 'shortly'],
  [49, 'in 49 seconds', 'in 49 seconds'],
])('%d seconds from now', (seconds, relative, upcoming) => {
  expect(relativeTime(after(seconds), NOW)).toBe(relative);
  expect(upcomingTime(after(seconds), NOW)).toBe(upcoming);
});

test('the hour after midnight is 00', () => {
  const at = new Date(2026, 10, 15, 0, 5).toISOString();
  expect(dateAndTime(at)).toContain('00:05:00');
  expect(renderToStaticMarkup(createElement(ExactTime, { at }))).toContain('00:05:00</time>');
});
