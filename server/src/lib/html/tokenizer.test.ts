import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEntities, decodeEntitiesLeniently } from './entities.ts';
import { scanHtml } from './scan.ts';
import { HtmlTokenizer } from './tokenizer.ts';

/**
 * Goal: tokens and attributes are those of WHATWG HTML 13.2.5, at the right offsets, in linear time.
 * Method: examples from the specification's corner cases, and properties over arbitrary markup.
 */

/** Each token as `kind name: source`. */
function tokensOf(html: string): string[] {
  const tokenizer = new HtmlTokenizer(html);
  const tokens: string[] = [];
  while (tokenizer.next()) {
    const { kind, name, start, end } = tokenizer;
    tokens.push(`${kind}${kind === 'text' ? '' : ` ${name}`}: ${html.slice(start, end)}`);
  }
  return tokens;
}

it.each<[string, string[]]>([
  ['a<B>c</B >', ['text: a', 'start-tag b: <B>', 'text: c', 'end-tag b: </B >']],
  ['1 < 2 <3 <', ['text: 1 < 2 <3 <']],
  ['a</', ['text: a</']],
  ['a</>b</ c>d', ['text: a', 'text: b', 'text: d']],
  ['a<!-->b<!--->c', ['text: a', 'text: b', 'text: c']],
  ['a<!-- <b> --!>c<!x>d<?y>e', ['text: a', 'text: c', 'text: d', 'text: e']],
  ['<p title="a > b">c', ['start-tag p: <p title="a > b">', 'text: c']],
  ["<p a=b'>c", ["start-tag p: <p a=b'>", 'text: c']],
  ['<br/>a', ['start-tag br: <br/>', 'text: a']],
  [
    '<BlockQuote>a</TD>b',
    ['start-tag blockquote: <BlockQuote>', 'text: a', 'end-tag td: </TD>', 'text: b'],
  ],
  ['<o:p>a</tdx\0>', ['start-tag o:p: <o:p>', 'text: a', 'end-tag tdx\0: </tdx\0>']],
  ['<lin\u212a>a', ['start-tag link: <lin\u212a>', 'text: a']],
  ['<h\x11>a', ['start-tag h\x11: <h\x11>', 'text: a']],
  ['<a\u00a0b>c', ['start-tag a\u00a0b: <a\u00a0b>', 'text: c']],
  ['<style></style>', ['start-tag style: <style>', 'raw-text style: ', 'end-tag style: </style>']],
  [
    '<style><b></styles></STYLE >',
    ['start-tag style: <style>', 'raw-text style: <b></styles>', 'end-tag style: </STYLE >'],
  ],
  [
    '<plaintext><b></plaintext>',
    ['start-tag plaintext: <plaintext>', 'raw-text plaintext: <b></plaintext>'],
  ],
])('%s', (html, tokens) => {
  expect(tokensOf(html)).toEqual(tokens);
});

it('reads several documents at once, and none beyond its end', () => {
  expect(tokensOf(`<i>${'long '.repeat(9)}</i>`)).toHaveLength(3);
  const outer = new HtmlTokenizer('<p title="a">');
  expect(tokensOf('<b')).toEqual([]);
  const inner = new HtmlTokenizer('<i>');
  expect(inner.next() && outer.next()).toBe(true);
  expect([inner.name, outer.name, outer.attribute('title')]).toEqual(['i', 'p', 'a']);
  expect([inner.next(), inner.next(), outer.next()]).toEqual([false, false, false]);
});

it.each([
  ['a<p title="b', 1],
  ['a<p', 1],
  ['a<!-- b', 1],
  ['a<!b', 1],
  ['a<style>b', 1],
  ['a<plaintext>b', undefined],
  ['a<p>b', undefined],
])('reports where %s is not closed', (html, unclosedAt) => {
  expect(scanHtml(html).unclosedAt).toBe(unclosedAt);
});

it.each<[string, Record<string, string>]>([
  ['<a href="x" HREF="y">', { href: 'x' }],
  ["<a b='1' c = 2 d>", { b: '1', c: '2', d: '' }],
  ['<a b=>', { b: '' }],
  ['<a b=c/>', { b: 'c/' }],
  ['<a/b/c=d>', { b: '', c: 'd' }],
  ['<a =b=c>', { '=b': 'c' }],
  ['<a b="c"d="e">', { b: 'c', d: 'e' }],
  ['<a\tb\n=\n"c">', { b: 'c' }],
])('reads the attributes of %s', (html, expected) => {
  const tokenizer = new HtmlTokenizer(html);
  tokenizer.next();
  for (const [name, value] of Object.entries(expected)) {
    expect(tokenizer.attribute(name)).toBe(value);
  }
  expect(new Set(tokenizer.attributes().map(({ name }) => name))).toEqual(
    new Set(Object.keys(expected)),
  );
  for (const { name, value, start, valueStart } of tokenizer.attributes()) {
    expect(html.slice(start, start + name.length).toLowerCase()).toBe(name);
    expect(html.slice(valueStart, valueStart + value.length)).toBe(value);
  }
});

const fragment = fc.oneof(
  fc.constantFrom('<', '>', '</', '/', '"', "'", '=', '<!--', '-->', '--!>', '<!', '<?', ' ', '\n'),
  fc.constantFrom(
    '<a href=',
    '<p ',
    '<style>',
    '</style',
    '<plaintext>',
    '<xmp',
    '</xmp>',
    'class',
  ),
  fc.string({ unit: 'binary-ascii', maxLength: 4 }),
);

describe('for any markup', () => {
  const markup = fc.array(fragment, { maxLength: 60 }).map((fragments) => fragments.join(''));

  it('tokens are in order, within the document, and start with what they are', () => {
    fc.assert(
      fc.property(markup, (html) => {
        const tokenizer = new HtmlTokenizer(html);
        let position = 0;
        while (tokenizer.next()) {
          const { kind, start, end } = tokenizer;
          expect(start).toBeGreaterThanOrEqual(position);
          expect(end).toBeLessThanOrEqual(html.length);
          position = end;
          if (kind === 'start-tag') expect(html.slice(start, end)).toMatch(/^<[a-z].*>$/is);
          if (kind === 'end-tag') expect(html.slice(start, end)).toMatch(/^<\/[a-z].*>$/is);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('attributes can be found by name', () => {
    fc.assert(
      fc.property(markup, (html) => {
        const tokenizer = new HtmlTokenizer(html);
        while (tokenizer.next()) {
          if (tokenizer.kind !== 'start-tag') continue;
          const first = new Map(
            tokenizer
              .attributes()
              .toReversed()
              .map((one) => [one.name, one]),
          );
          for (const [name, { valueStart }] of first) {
            expect(tokenizer.attributeRange(name)?.start).toBe(valueStart);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

it.each([
  '<',
  '<a ',
  '<a "',
  '<a b="',
  '</',
  '<!',
  '<!--',
  '<!---',
  '<style>',
  '</style',
  '<a b=c ',
  '< ',
])('is linear in %s', (unit) => {
  expect(scanHtml(unit.repeat(200_000)).tags.length).toBeLessThan(200_001);
});

describe('entities', () => {
  it('need a semicolon when they have a name', () => {
    expect(decodeEntities('&amp;&copy=2&colon;&Tab;&#58&#x3A;')).toBe('&&copy=2:\t::');
  });

  it('may have any number of digits', () => {
    expect(decodeEntities(`&#${'0'.repeat(99)}58;&#${'9'.repeat(999)};`)).toBe(':\ufffd');
  });

  it('are decoded without a semicolon for security checks', () => {
    expect(decodeEntitiesLeniently('java&NewLinescript&colonalert&#x28')).toBe(
      'java\nscript:alert(',
    );
  });
});
