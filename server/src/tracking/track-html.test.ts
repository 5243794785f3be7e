import { describe, expect, it } from 'vitest';
import type { MessageContent } from '../messages/content/message-content.ts';
import { createTracker } from './track-html.ts';
import { TrackingLinks } from './tracking-links.ts';

/**
 * Goal: only links that a person can click are rewritten, and the rest of the markup is unchanged.
 */

const links = new TrackingLinks(Buffer.alloc(32, 7));
const track = createTracker({ links, baseUrl: 'https://mail.example.org' });
const message = {
  workspaceId: '01890a5d-ac96-774b-bcce-b302099a8057',
  mode: 'live' as const,
  messageId: '01890a5d-ac96-774b-bcce-b302099a8058',
};

function tracked(html: string, how: Partial<Parameters<typeof track>[1]> = {}): MessageContent {
  const head = { from: { email: 'a@b.example' }, to: [], cc: [], reply_to: [], headers: [] };
  const content = { subject: 'S', head, html, text: null, attachments: [] };
  return track(content, { ...message, opens: false, clicks: false, host: null, ...how });
}

/** The target URLs of the tracked links in an HTML document. */
function targets(html: string): (string | undefined)[] {
  const found = html.matchAll(/https:\/\/mail\.example\.org\/t\/c\/([\w-]+)\/([\w-]+)/g);
  return [...found].map(([, token = '', url = '']) => links.readClick(token, url)?.url);
}

describe('links', () => {
  it.each([
    ['<a href="https://shop.example/a?b=1&amp;c=2">x</a>', 'https://shop.example/a?b=1&c=2'],
    ["<A HREF='http://shop.example/it%27s'>x</A>", 'http://shop.example/it%27s'],
    ['<a class=x href=https://shop.example/a>x</a>', 'https://shop.example/a'],
    ['<area href=" https://shop.example/\n ">', 'https://shop.example/'],
    ['<a href="https://bücher.example/ü">x</a>', 'https://xn--bcher-kva.example/%C3%BC'],
    ['<a title="a > b" href="https://shop.example/">x</a>', 'https://shop.example/'],
  ])('%s', (html, url) => {
    const made = tracked(html, { clicks: true }).html;
    expect(targets(made)).toEqual([url]);
    expect(made).not.toContain('shop.example');
  });

  it.each([
    '<a href="mailto:a@b.example">x</a>',
    '<a href="#top">x</a>',
    '<a href="/relative">x</a>',
    '<a href="javascript:alert(1)">x</a>',
    '<a name="https://shop.example/">x</a>',
    '<a href>x</a>',
    '<a href="https://">x</a>',
    '<img src="https://shop.example/a.png">',
    '<link href="https://shop.example/a.css">',
    '<!-- <a href="https://shop.example/"> -->',
    '<style>a[href="https://shop.example/"]{}</style>',
    'https://shop.example/',
    `<a href="https://shop.example/${'a'.repeat(5_000)}">x</a>`,
  ])('unchanged: %s', (html) => {
    expect(tracked(html, { clicks: true }).html).toBe(html);
  });

  it('the surrounding markup is unchanged, byte for byte', () => {
    const html =
      '<p title="1">é<a b=1 href="https://a.example/" c>A</a>&amp;<a href=http://b.example>B</a></p>';
    const made = tracked(html, { clicks: true }).html;
    expect(made.replaceAll(/https:\/\/mail\.example\.org\/t\/c\/[\w/-]+/g, '*')).toBe(
      '<p title="1">é<a b=1 href="*" c>A</a>&amp;<a href=*>B</a></p>',
    );
  });

  it('at most 500 links are rewritten, so that a message cannot grow without bound', () => {
    const made = tracked('<a href="http://a.example">a</a>'.repeat(600), { clicks: true }).html;
    expect(targets(made)).toHaveLength(500);
  });

  it('the plain text keeps the original links', () => {
    const made = tracked('<a href="https://shop.example/a">Shop</a>', {
      clicks: true,
      opens: true,
    });
    expect(made.text).toContain('https://shop.example/a');
    expect(made.text).not.toContain('/t/');
  });
});

describe('the tracking pixel', () => {
  it.each([
    ['<html><body><p>x</p></body></html>', /<p>x<\/p><img [^>]+><\/body><\/html>$/],
    ['<p>x</p>', /^<p>x<\/p><img [^>]+>$/],
    ['</body><p>x</p></BODY >', /^<\/body><p>x<\/p><img [^>]+><\/BODY >$/],
  ])('appears once, at the end of %s', (html, wanted) => {
    const made = tracked(html, { opens: true }).html;
    expect(made).toMatch(wanted);
    expect(made.match(/<img/g)).toHaveLength(1);
  });

  it('uses the tracking host of the domain, if there is one', () => {
    const made = tracked('<p>x</p>', { opens: true, host: 'links.shop.example' }).html;
    expect(made).toContain('src="https://links.shop.example/t/o/');
  });
});
