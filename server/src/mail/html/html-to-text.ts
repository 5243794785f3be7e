import { VOID_ELEMENTS } from '../../lib/html/elements.ts';
import { decodeEntities } from '../../lib/html/entities.ts';
import { HtmlTokenizer } from '../../lib/html/tokenizer.ts';

/**
 * The text part of an email: what the sender wrote, or else what its HTML says. HTML that
 * consists of images without `alt` says nothing: the subject is used then, because spam filters
 * distrust an email without text.
 */
export function textPartOf(email: { subject: string; html: string; text: string | null }): string {
  if (email.text !== null) return email.text;
  return htmlToText(email.html) || (email.html === '' ? '' : email.subject);
}

/**
 * Generates the text part of an email that has only HTML. Input: any HTML, including hostile or
 * broken markup. Output: what a reader would see, in order: paragraphs separated, list items marked,
 * links as `text (address)`, table rows as lines, and nothing hidden. A single pass that never throws;
 * time and output size are bounded by the size of the HTML.
 */
export function htmlToText(html: string): string {
  const tokens = new HtmlTokenizer(html);
  const builder = new TextBuilder();
  const mayHide = mayHideElements(html);
  while (tokens.next()) {
    if (builder.isHidden()) {
      builder.skipHidden(tokens);
    } else if (tokens.kind === 'text') {
      builder.addSourceText(html, tokens.start, tokens.end);
    } else if (tokens.kind === 'start-tag') {
      const layout = LAYOUT.get(tokens.name) ?? INLINE;
      if (layout === NOT_DISPLAYED || (mayHide && isHiddenElement(tokens))) {
        builder.hide(tokens.name);
      } else builder.open(tokens, layout);
    } else if (tokens.kind === 'end-tag') {
      builder.close(tokens.name, LAYOUT.get(tokens.name) ?? INLINE);
    } else if (DISPLAYED_RAW_TEXT.has(tokens.name)) {
      builder.addLines(html.slice(tokens.start, tokens.end));
    }
  }
  builder.closeLink();
  return builder.text;
}

/** How an element is written as text. One lookup for each tag has everything about it. */
interface Layout {
  /** Line breaks before and after the element; two make an empty line. */
  readonly breaks: 0 | 1 | 2;
  /** A start or end tag has an effect besides the line breaks. */
  readonly isSpecial: boolean;
}

const INLINE: Layout = { breaks: 0, isSpecial: false };
/** Its content is markup that no client displays. */
const NOT_DISPLAYED: Layout = { breaks: 0, isSpecial: false };

const LAYOUT = new Map<string, Layout>([
  ['head', NOT_DISPLAYED],
  ['template', NOT_DISPLAYED],
]);
const SPECIAL = new Set('a br img hr td th ul ol li blockquote pre'.split(' '));
const ONE_BREAK = `div tr li dt dd section article header footer main nav aside address center figure
  figcaption caption fieldset option body`;
const TWO_BREAKS = 'p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre xmp plaintext hr form';
for (const name of SPECIAL) LAYOUT.set(name, { breaks: 0, isSpecial: true });
for (const name of ONE_BREAK.split(/\s+/)) {
  LAYOUT.set(name, { breaks: 1, isSpecial: SPECIAL.has(name) });
}
for (const name of TWO_BREAKS.split(' ')) {
  LAYOUT.set(name, { breaks: 2, isSpecial: SPECIAL.has(name) });
}

/** Elements whose raw text is displayed as it is; that of all others, such as `<style>`, is not. */
const DISPLAYED_RAW_TEXT = new Set(['xmp', 'plaintext']);

const MAYBE_HIDDEN = /none|hidden|opacity|max-height/i;
const HIDDEN_STYLE =
  /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|max-height)\s*:\s*0+(?:px)?\s*(?:[;!]|$))/i;

/** One search of the whole document avoids checking every tag. */
function mayHideElements(html: string): boolean {
  const lower = html.toLowerCase();
  return (
    lower.includes('none') ||
    lower.includes('hidden') ||
    lower.includes('opacity') ||
    lower.includes('max-height')
  );
}

function isHiddenElement(tokens: HtmlTokenizer): boolean {
  if (LAYOUT.get(tokens.name) === NOT_DISPLAYED) return true;
  if (!tokens.mentions(MAYBE_HIDDEN)) return false;
  return (
    tokens.attribute('hidden') !== undefined || HIDDEN_STYLE.test(tokens.attribute('style') ?? '')
  );
}

const LIST_DEPTH_MAX = 8;
const QUOTE_DEPTH_MAX = 4;

interface List {
  /** The number of the next item; undefined in an unordered list. */
  next: number | undefined;
}

class TextBuilder {
  text = '';
  /** Pending separators between the text so far and the next text: line breaks, or else spaces. */
  #breaks = 0;
  #spaces = 0;
  #marker = '';
  #lists: List[] = [];
  #quoteDepth = 0;
  #preDepth = 0;
  #link: { address: string; text: string } | undefined;
  #hidden: { name: string; depth: number } | undefined;

  isHidden(): boolean {
    return this.#hidden !== undefined;
  }

  hide(name: string): void {
    if (!VOID_ELEMENTS.has(name)) this.#hidden = { name, depth: 1 };
  }

  // Only tags with the same name are counted, because email often leaves other tags unclosed.
  skipHidden(tokens: HtmlTokenizer): void {
    const hidden = this.#hidden;
    if (hidden === undefined || tokens.kind === 'text' || tokens.kind === 'raw-text') return;
    if (tokens.kind === 'start-tag' && implicitlyCloses(hidden.name, tokens.name)) {
      this.#hidden = undefined;
      if (isHiddenElement(tokens)) this.hide(tokens.name);
      else this.open(tokens, LAYOUT.get(tokens.name) ?? INLINE);
    } else if (tokens.name === hidden.name) {
      hidden.depth += tokens.kind === 'start-tag' ? 1 : -1;
      if (hidden.depth === 0) this.#hidden = undefined;
    }
  }

  /** Adds text from the document. Most of it is plain ASCII, or only whitespace between two tags. */
  addSourceText(html: string, start: number, end: number): void {
    if (this.#preDepth === 0 && isBlank(html, start, end)) this.#spaces ||= 1;
    else this.addText(html.slice(start, end));
  }

  addText(raw: string): void {
    if (this.#preDepth > 0) {
      this.addLines(decodeEntities(raw));
      return;
    }
    const text = isPlainAscii(raw)
      ? raw
      : decodeEntities(raw).replace(INVISIBLE, '').replace(WHITESPACE, ' ');
    if (text === '') return;
    const from = text.charCodeAt(0) === SPACE ? 1 : 0;
    const to = text.charCodeAt(text.length - 1) === SPACE ? text.length - 1 : text.length;
    if (from === 1) this.#spaces ||= 1;
    if (from >= to) return;
    this.#write(text.slice(from, to));
    this.#spaces = to < text.length ? 1 : 0;
  }

  open(tokens: HtmlTokenizer, { breaks, isSpecial }: Layout): void {
    this.#break(breaks);
    if (isSpecial) this.#openSpecial(tokens);
  }

  #openSpecial(tokens: HtmlTokenizer): void {
    const { name } = tokens;
    switch (name) {
      case 'td':
      case 'th':
        this.#spaces = 2;
        break;
      case 'a':
        this.closeLink();
        this.#link = { address: displayAddress(tokens.attribute('href')), text: '' };
        break;
      case 'br':
        this.#breaks = Math.min(2, this.#breaks + 1);
        break;
      case 'img':
        this.addText(tokens.attribute('alt') ?? '');
        break;
      case 'hr':
        this.#write('-----');
        this.#break(2);
        break;
      case 'ul':
      case 'ol':
        this.#lists.push({ next: name === 'ol' ? 1 : undefined });
        if (this.#lists.length > 1) this.#breaks = Math.min(this.#breaks, 1);
        break;
      case 'li':
        this.#marker = this.#nextMarker();
        break;
      case 'blockquote':
        this.#quoteDepth += 1;
        break;
      case 'pre':
        this.#preDepth += 1;
        break;
    }
  }

  close(name: string, { breaks, isSpecial }: Layout): void {
    if (!isSpecial) {
      this.#break(breaks);
      return;
    }
    if (name === 'td') return;
    if (name === 'a') this.closeLink();
    const nested = (name === 'ul' || name === 'ol') && this.#lists.length > 1;
    this.#break(nested ? 1 : breaks);
    if (name === 'ul' || name === 'ol') this.#lists.pop();
    if (name === 'li') this.#marker = '';
    if (name === 'blockquote') this.#quoteDepth = Math.max(0, this.#quoteDepth - 1);
    if (name === 'pre') this.#preDepth = Math.max(0, this.#preDepth - 1);
  }

  closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined || link.address === '') return;
    if (link.text === '') this.#write(link.address);
    else if (!isSameAddress(link.text, link.address)) {
      this.#spaces = 1;
      this.#write(`(${link.address})`);
    }
  }

  #break(breaks: number): void {
    if (breaks > this.#breaks) this.#breaks = breaks;
  }

  #write(text: string): void {
    if (this.text === '') {
      this.text = this.#lineStart();
    } else if (this.#breaks > 0) {
      this.text += (this.#breaks === 1 ? '\n' : '\n\n') + this.#lineStart();
    } else if (this.#spaces > 0) {
      this.text += this.#spaces === 1 ? ' ' : '  ';
    }
    if (this.#link !== undefined) this.#link.text += (this.#spaces > 0 ? ' ' : '') + text;
    this.text += text;
    this.#breaks = 0;
    this.#spaces = 0;
  }

  #lineStart(): string {
    const marker = this.#marker;
    this.#marker = '';
    if (this.#quoteDepth === 0 && this.#lists.length === 0) return '';
    const quote = '> '.repeat(Math.min(this.#quoteDepth, QUOTE_DEPTH_MAX));
    const depth = Math.min(this.#lists.length, LIST_DEPTH_MAX) - (marker === '' ? 0 : 1);
    return quote + '  '.repeat(Math.max(0, depth)) + marker;
  }

  #nextMarker(): string {
    const list = this.#lists.at(-1);
    if (list?.next === undefined) return '- ';
    const marker = `${list.next}. `;
    list.next += 1;
    return marker;
  }

  /** Adds preformatted text. */
  addLines(text: string): void {
    for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
      if (index > 0) this.#breaks = Math.min(2, this.#breaks + 1);
      if (line.trim() !== '') this.#write(line.trimEnd());
    }
  }
}

const SPACE = 0x20;
const AMPERSAND = 0x26;
const WHITESPACE = /[ \t\n\r\f\u00a0\u2000-\u200a\u202f]+/g;
// Characters that senders pad preview text with, and soft hyphens.
const INVISIBLE = /\u034f|[\u00ad\u200b\u2060\ufeff]/g;

function isBlank(html: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const code = html.charCodeAt(i);
    if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return false;
  }
  return true;
}

/** Printable ASCII with single spaces and no character references. */
function isPlainAscii(text: string): boolean {
  let before = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < SPACE || code > 0x7e || code === AMPERSAND) return false;
    if (code === SPACE && before === SPACE) return false;
    before = code;
  }
  return true;
}

/** A head ends where the body starts, and a paragraph where another block starts. */
function implicitlyCloses(hidden: string, opened: string): boolean {
  if (hidden === 'head') return opened === 'body';
  return hidden === 'p' && (LAYOUT.get(opened)?.breaks ?? 0) > 0;
}

/** The address to show next to a link; empty for scripts, fragments and relative paths. */
function displayAddress(href: string | undefined): string {
  // As in browsers: line breaks and tabs are removed, and inner spaces are percent-encoded.
  const address = (href ?? '')
    .trim()
    .replace(/\p{Cc}+/gu, '')
    .replace(/\s/gu, encodeURIComponent);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(address)) return '';
  if (/^(?:javascript|data|vbscript|file|cid|about):/i.test(address)) return '';
  return address.replace(/^(?:mailto|tel|sms):/i, '');
}

function isSameAddress(text: string, address: string): boolean {
  return normalizeAddress(text) === normalizeAddress(address);
}

function normalizeAddress(address: string): string {
  return address
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '')
    .toLowerCase();
}
