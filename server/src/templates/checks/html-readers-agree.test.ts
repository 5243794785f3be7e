import { describe, expect, it } from 'vitest';
import { scanHtml } from '../../lib/html/scan.ts';
import { htmlToText } from '../../mail/html/html-to-text.ts';
import { extractLinks } from '../../mail/html/links-and-codes.ts';
import { createTracker } from '../../tracking/track-html.ts';
import { TrackingLinks } from '../../tracking/tracking-links.ts';
import { inlineCss } from '../content/inline-css.ts';
import { tryRender } from '../engine/try-render.ts';
import { checkContent } from './check-content.ts';

/**
 * Goal: everything that reads HTML agrees on what is markup inside elements with unusual content rules.
 * Method: a link inside each element and one after its end tag, shown to every reader.
 */

const RAW = { inside: false, after: true };
const ELEMENTS: [string, { inside: boolean; after: boolean }][] = [
  ['noframes', RAW],
  ['noembed', RAW],
  ['iframe', RAW],
  ['xmp', RAW],
  ['textarea', RAW],
  ['title', RAW],
  ['plaintext', { inside: false, after: false }],
  ['template', { inside: true, after: true }],
  ['noscript', { inside: true, after: true }],
  ['div', { inside: true, after: true }],
];

const INSIDE = 'https://x.example/inside';
const AFTER = 'https://x.example/after';

const track = createTracker({
  links: new TrackingLinks(Buffer.alloc(32, 7)),
  baseUrl: 'https://mail.example.org',
});

/** Which of the two links a reader sees. */
const READERS: Record<string, (element: string) => { inside: boolean; after: boolean }> = {
  scanner: (element) => {
    const links = scanHtml(page(element)).tags.flatMap(({ attributes }) =>
      attributes.map(({ value }) => value),
    );
    return { inside: links.includes(INSIDE), after: links.includes(AFTER) };
  },
  linter: (element) => {
    const html = page(element).replace(INSIDE, 'in').replace(AFTER, 'after\nlines');
    const lines = checkContent({ html, text: 'text' })
      .filter(({ code }) => code === 'link_not_absolute')
      .map(({ line }) => line);
    return { inside: lines.includes(2), after: lines.includes(3) };
  },
  'link extractor': (element) => {
    const links = extractLinks(page(element), '');
    return { inside: links.includes(INSIDE), after: links.includes(AFTER) };
  },
  'link tracker': (element) => {
    const head = { from: { email: 'a@b.example' }, to: [], cc: [], reply_to: [], headers: [] };
    const content = { subject: '', head, html: page(element), text: '', attachments: [] };
    const { html } = track(content, {
      workspaceId: '01890a5d-ac96-774b-bcce-b302099a8057',
      mode: 'live',
      messageId: '01890a5d-ac96-774b-bcce-b302099a8058',
      opens: false,
      clicks: true,
      host: null,
    });
    return { inside: !html.includes(INSIDE), after: !html.includes(AFTER) };
  },
  'CSS inliner': (element) => {
    const [html = ''] = inlineCss([`<style>a { color: red }</style>${page(element)}`]).segments;
    const isStyled = (url: string): boolean =>
      html.includes(`<a style="color: red;" href="${url}"`);
    return { inside: isStyled(INSIDE), after: isStyled(AFTER) };
  },
  escaper: (element) => {
    const accepts = (html: string): boolean => {
      try {
        return tryRender(html, 'html', { v: '<b>' }).text.includes('<a title="&lt;b&gt;">');
      } catch {
        return false;
      }
    };
    // The escaper adds quotes around an attribute value, but not around the same text elsewhere.
    const link = '<a title={{ v }}>';
    return {
      inside: accepts(`<${element}>${link}`),
      after: accepts(`<${element}></${element}>${link}`),
    };
  },
};

function page(element: string): string {
  return `<p>first</p>\n<${element}><a href="${INSIDE}">in</a></${element}>\n<p><a href="${AFTER}">out</a></p>`;
}

describe.each(Object.entries(READERS))('the %s', (_, read) => {
  it.each(ELEMENTS)('sees markup in and after <%s>', (element, expected) => {
    expect(read(element)).toEqual(expected);
  });
});

describe('the text generator', () => {
  it.each(['noframes', 'noembed', 'iframe', 'textarea', 'title', 'template'])(
    'omits the content of <%s>',
    (element) => expect(htmlToText(page(element))).toBe(`first\n\nout (${AFTER})`),
  );

  it('shows the content of <xmp> and <plaintext> as it is', () => {
    const literal = `<a href="${INSIDE}">in</a>`;
    expect(htmlToText(page('xmp'))).toBe(`first\n\n${literal}\n\nout (${AFTER})`);
    expect(htmlToText(page('plaintext'))).toMatch(/^first\n\n<a href.*<\/plaintext>\n<p>/s);
  });
});
