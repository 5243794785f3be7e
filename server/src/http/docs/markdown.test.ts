import { expect, it } from 'vitest';
import { MarkdownDocument, renderInline, renderMarkdown } from './markdown.ts';

/** Goal: Markdown becomes the usual elements, and no text becomes an element of its own. */

it('renders paragraphs, lists, tables, code and links', () => {
  const text = [
    '# Title',
    '',
    'A *first* **paragraph** with `a | b`.',
    '',
    '1. One',
    '',
    '   ```sh',
    '   echo "$API_KEY"',
    '   ```',
    '',
    '| A | B |',
    '|---|---|',
    '| `x \\| y` | [guide](other.md#part) |',
    '',
    '## `code` and "quotes"!',
    '## `code` and "quotes"!',
  ].join('\n');
  const document = new MarkdownDocument(text);
  expect([document.title, document.lead]).toEqual(['Title', 'A first paragraph with a | b.']);
  const page = document.body({ link: (target) => `/docs/${target}` }).text;
  expect(page).toContain(
    '<p>A <em>first</em> <strong>paragraph</strong> with <code>a | b</code>.</p>',
  );
  expect(page).toMatch(/<ol><li>.*One.*<figure/s);
  expect(page).toContain('<span class="t-string">&quot;$API_KEY&quot;</span>');
  expect(page).toContain('<td><code>x | y</code></td>');
  expect(page).toContain('<a href="/docs/other.md#part">guide</a>');
  expect(document.headings.map(({ id }) => id)).toEqual(['code-and-quotes', 'code-and-quotes-1']);
  expect(page).toContain('id="code-and-quotes-1"');
});

it('shows HTML as text and follows only safe links', () => {
  const hostile = [
    '<script>alert(1)</script>',
    'Text <img src=x onerror=alert(1)> and <!-- comment --> &amp; [a](javascript:alert(1))',
    '[b](data:text/html,x) [c](//evil.example) [d](https://example.com/?a=1&b=%22)',
    '![image](javascript:alert(1))',
    '```"><b>',
    '</code></pre><script>',
    '```',
  ].join('\n\n');
  const page = renderMarkdown(hostile).text;
  expect(page).not.toMatch(/<script|<img|javascript:alert\(1\)"|href="(?:data|\/\/)/);
  expect(page).toContain('&lt;script&gt;');
  expect(page).not.toContain('comment');
  expect(page).toContain('<a href="https://example.com/?a=1&amp;b=%22">d</a>');
  expect(renderInline('a <b>\n`c`').text).toBe('a &lt;b&gt; <code>c</code>');
});

it('takes out comments, and links to what is not a page, of the Markdown version', () => {
  const document = new MarkdownDocument(
    '# T\n\n<!-- generated -->\n\n[kept](a.md) and [source](../src/b.ts)\n\n```\n[code](b)\n```\n',
  );
  const source = document.source({
    link: (target) => (target === 'a.md' ? '/docs/a.md' : undefined),
  });
  expect(source).toContain('[kept](/docs/a.md) and source');
  expect(source).toContain('[code](b)');
  expect(source).not.toContain('<!--');
});
