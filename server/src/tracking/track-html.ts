import { HtmlTokenizer } from '../lib/html/tokenizer.ts';
import { textPartOf } from '../mail/html/html-to-text.ts';
import type { TrackContent } from '../messages/accept/prepare-message.ts';
import { UNSUBSCRIBE_PATH } from '../messages/unsubscribe-path.ts';
import { CLICK_PATH, type TrackingLinks } from './tracking-links.ts';

/**
 * Adds click and open tracking to a message's HTML when it is accepted; from then on, every attempt
 * sends the same bytes. Only http(s) links in HTML are rewritten. The plain text keeps the original
 * links.
 */
export function createTracker(parts: { links: TrackingLinks; baseUrl: string }): TrackContent {
  const { links } = parts;
  const serverUrl = new URL(parts.baseUrl);
  return (content, options) => {
    const origin =
      options.host === null ? serverUrl.origin : originForHost(serverUrl, options.host);
    const isOurs = (url: string): boolean =>
      url.startsWith(origin + CLICK_PATH) || url.startsWith(serverUrl.origin + UNSUBSCRIBE_PATH);
    const text = textPartOf(content);
    let { html } = content;
    if (options.clicks) {
      html = rewriteLinks(html, (url) =>
        isOurs(url) ? url : origin + links.clickPath(options, url),
      );
    }
    if (options.opens) html = addTrackingPixel(html, origin + links.openPath(options));
    return { ...content, html, text };
  };
}

/** Bounds the growth of a message; further links, and longer ones, stay unchanged. */
const LINKS_MAX = 500;
const LINK_CHARS_MAX = 4096;

function originForHost({ protocol, port }: URL, host: string): string {
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}`;
}

function rewriteLinks(html: string, tracked: (url: string) => string): string {
  const tokens = new HtmlTokenizer(html);
  let output = '';
  let copied = 0;
  for (let links = 0; links < LINKS_MAX && tokens.next(); ) {
    if (tokens.kind !== 'start-tag' || (tokens.name !== 'a' && tokens.name !== 'area')) continue;
    const place = tokens.attributeRange('href');
    const url = place && normalizeWebUrl(tokens.attribute('href') as string);
    if (!url) continue;
    // Tracking URLs contain no character that needs escaping, in any kind of quotes.
    output += html.slice(copied, place.start) + tracked(url);
    copied = place.end;
    links += 1;
  }
  return output + html.slice(copied);
}

/** The URL as a browser would request it, in ASCII; undefined when it is not an http(s) URL. */
function normalizeWebUrl(written: string): string | undefined {
  const address = written.replace(/[\t\r\n]/g, '').trim();
  if (!/^https?:\/\/./i.test(address) || address.length > LINK_CHARS_MAX) return undefined;
  const parsed = URL.parse(address);
  return parsed && parsed.href.length <= LINK_CHARS_MAX ? parsed.href : undefined;
}

function addTrackingPixel(html: string, address: string): string {
  const pixel = `<img src="${address}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`;
  const end = findBodyEnd(html);
  return html.slice(0, end) + pixel + html.slice(end);
}

/** The last `</body>` that is markup, not one in a comment or script; else the end of the document. */
function findBodyEnd(html: string): number {
  let end = html.length;
  if (!/<\/body/i.test(html)) return end;
  const tokens = new HtmlTokenizer(html);
  while (tokens.next()) {
    if (tokens.kind === 'end-tag' && tokens.name === 'body') end = tokens.start;
  }
  return end;
}
