import { expect, test } from 'vitest';
import { highlight, type Language } from './highlight.ts';

function kinds(code: string, language: Language): string[] {
  const tokens = highlight(code, language);
  expect(tokens.map(({ text }) => text).join('')).toBe(code);
  return tokens.flatMap(({ kind, text }) => (kind ? [`${kind} ${text}`] : []));
}

test('names, strings, numbers and keywords of JSON', () => {
  expect(kinds('{ "a": "b: \\" c", "n": [-1.5, null] }', 'json')).toEqual([
    'key "a"',
    'string "b: \\" c"',
    'key "n"',
    'number -1.5',
    'keyword null',
  ]);
});

test('the option, string and command of a shell line', () => {
  expect(kinds(`curl -d '{"a":\n1}' https://x.test/#top`, 'shell')).toEqual([
    'keyword curl',
    'key -d',
    `string '{"a":\n1}'`,
  ]);
});

test('JavaScript, Python and HTML', () => {
  expect(kinds("const a = { b: 'c' }; // d", 'javascript')).toEqual([
    'keyword const',
    'key b',
    "string 'c'",
    'comment // d',
  ]);
  expect(kinds('import x  # y', 'python')).toEqual(['keyword import', 'comment # y']);
  expect(kinds('<a href="b">c</a><!-- d', 'html')).toEqual([
    'keyword <a',
    'string "b"',
    'keyword >',
    'keyword </a',
    'keyword >',
    'comment <!-- d',
  ]);
});

test('code without a language, and very long code, stays plain', () => {
  expect(highlight('a', undefined)).toEqual([{ text: 'a' }]);
  expect(highlight('"'.repeat(50_000), 'json')).toHaveLength(1);
});

test('hostile code is split in linear time', () => {
  for (const language of ['json', 'shell', 'javascript', 'python', 'html'] as const) {
    for (const part of ['\\"', "\\'", '<!--', '="', '`\\', '<a', '"\n']) {
      const code = part.repeat(39_000 / part.length);
      expect(
        highlight(code, language)
          .map(({ text }) => text)
          .join(''),
      ).toBe(code);
    }
  }
});
