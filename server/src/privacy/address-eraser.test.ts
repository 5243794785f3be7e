import { expect, it } from 'vitest';
import { createEraser } from './address-eraser.ts';

/** An address is erased wherever it occurs, and similar addresses are kept. */

const eraser = createEraser('ann@example.com');
const GONE = 'erased@erased.invalid';

it.each([
  ['ann@example.com', GONE],
  ['Ann@Example.COM', GONE],
  ['RCPT TO:<ann@example.com>', `RCPT TO:<${GONE}>`],
  ['Write to ann@example.com.', `Write to ${GONE}.`],
  ['a@b.c, ann@example.com;ann@example.com', `a@b.c, ${GONE};${GONE}`],
  ['https://x.test/?email=ann%40example.com&a=1', `https://x.test/?email=${GONE}&a=1`],
  ['https://x.test/?u=mailto%3Aann%40example.com', `https://x.test/?u=mailto%3A${GONE}`],
  ['mailto:ann@example.com', `mailto:${GONE}`],
])('erases it in %s', (text, left) => {
  expect(eraser.text(text)).toBe(left);
});

it.each([
  'joann@example.com',
  'jo.ann@example.com',
  'jo+ann@example.com',
  'ann@example.com.au',
  'ann@example.community',
  'ann@example.com-mail.net',
  'ann@example.org',
])('leaves %s alone', (text) => {
  expect(eraser.text(text)).toBe(text);
});

it('finds an address with special characters', () => {
  const odd = createEraser('"a.b\\\\c"@example.com');
  expect(odd.text('to "a.b\\\\c"@example.com')).toBe(`to ${GONE}`);
  expect(createEraser('o+x$(1)@example.com'.replace('(1)', '')).text('o+x$@example.com')).toBe(
    GONE,
  );
  const ampersand = createEraser('a&b@example.com');
  expect(ampersand.text('<p>a&amp;b@example.com</p>')).toBe(`<p>${GONE}</p>`);
});

it('finds it in the encodings of HTML and links', () => {
  const { text } = createEraser("o'neil@example.com");
  for (const form of ["o'neil@example.com", 'o&#39;neil@example.com', 'o%27neil%40example.com']) {
    expect(text(`<p>${form}</p>`)).toBe(`<p>${GONE}</p>`);
  }
});

it('finds a domain in both of its spellings', () => {
  const { text } = createEraser('ann@xn--bcher-kva.example');
  for (const form of [
    'ann@xn--bcher-kva.example',
    'Ann@Bücher.example',
    'ann%40b%C3%BCcher.example',
    'ann%40xn--bcher-kva.example',
  ]) {
    expect(text(`to ${form}.`)).toBe(`to ${GONE}.`);
  }
  expect(text('joann@bücher.example')).toBe('joann@bücher.example');
});

it('erases names and values in JSON, and returns the same object when nothing matched', () => {
  const given = { a: ['x', { 'ann@example.com': 1, b: 'to ann@example.com' }], c: null, d: 2 };
  expect(eraser.json(given)).toEqual({
    a: ['x', { [GONE]: 1, b: `to ${GONE}` }],
    c: null,
    d: 2,
  });
  const other = { a: ['joann@example.com'] };
  expect(eraser.json(other)).toBe(other);
});
