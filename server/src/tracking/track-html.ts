import { htmlToText } from '../mail/html/html-to-text.ts';
import { HtmlTokens } from '../mail/html/tokens.ts';
import type { TrackContent } from '../messages/accept/prepare-message.ts';
import { CLICK_PATH, type TrackingLinks } from './tracking-links.ts';

/**
 * Puts the tracked links and the one image into a message's html, when it is accepted: from then on
 * it is content like any other, and every try sends the same bytes. Only http(s) links of html are
 * changed. The plain text keeps the links as they were written.
 */
export function createTracker(parts: { links: TrackingLinks; baseUrl: string }): TrackContent {
  const { links } = parts;
  const serverUrl = new URL(parts.baseUrl);
  return (content, options) => {
    const origin = options.host === null ? serverUrl.origin : originForHost(serverUrl, options.host);
    const text = content.text ?? htmlToText(content.html);
    let { html } = content;
    if (options.clicks) {
      html = rewriteLinks(html, (url) =>
        url.startsWith(origin + CLICK_PATH) ? url : origin + links.clickPath(options, url),
      );
    }
    if (options.opens) html = addTrackingPixel(html, origin + links.openPath(options));
    return { ...content, html, text };
  };
}

/** A bound on how much larger a message can become; more links, and longer ones, stay as they are. */
const LINKS_MAX = 500;
const LINK_CHARS_MAX = 4096;

function originForHost({ protocol, port }: URL, host: string): string {
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}`;
}

function rewriteLinks(html: string, tracked: (url: string) => string): string {
  const tokens = new HtmlTokens(html);
  let output = '';
  let copied = 0;
  for (let links = 0; links < LINKS_MAX && tokens.next(); ) {
    if (tokens.kind !== 'open' || (tokens.name !== 'a' && tokens.name !== 'area')) continue;
    const place = tokens.attributePlace('href');
    const url = place && normalizeWebUrl(tokens.attribute('href') as string);
    if (!url) continue;
    // What is put in has no character that would have to be escaped, whatever the quotes.
    output += html.slice(copied, place.start) + tracked(url);
    copied = place.end;
    links += 1;
  }
  return output + html.slice(copied);
}

/** As a browser would ask for it, in ASCII; undefined when it is no http(s) address. */
function normalizeWebUrl(written: string): string | undefined {
  const address = written.replace(/[\t\r\n]/g, '').trim();
  if (!/^https?:\/\/./i.test(address) || address.length > LINK_CHARS_MAX) return undefined;
  const parsed = URL.parse(address);
  return parsed && parsed.href.length <= LINK_CHARS_MAX ? parsed.href : undefined;
}

function addTrackingPixel(html: string, address: string): string {
  const pixel = `<img src="${address}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`;
  const end = [...html.matchAll(/<\/body\s*>/gi)].at(-1)?.index ?? html.length;
  return html.slice(0, end) + pixel + html.slice(end);
}
