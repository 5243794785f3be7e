import { VOID_ELEMENTS } from '../../lib/html/elements.ts';
import { decodeEntities } from '../../lib/html/entities.ts';
import { ELEMENT_COUNT, elementNumber } from '../../lib/html/tag-names.ts';
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
  const builder = new TextBuilder(html);
  while (tokens.next()) {
    if (builder.isHidden()) {
      builder.skipHidden(tokens);
    } else if (tokens.kind === 'text') {
      builder.addSourceText(tokens);
    } else if (tokens.kind === 'start-tag') {
      builder.open(tokens);
    } else if (tokens.kind === 'end-tag') {
      builder.close(tokens);
    } else if ((LAYOUT[tokens.element]! & DISPLAYED_RAW_TEXT) !== 0) {
      builder.addLines(html.slice(tokens.start, tokens.end));
    }
  }
  builder.closeLink();
  return builder.text;
}

/** How each element is written as text: one lookup for each tag has everything about it. */
const LAYOUT = new Uint8Array(ELEMENT_COUNT);
/** The bits for the line breaks before and after the element, 0 to 2; two make an empty line. */
const BREAKS = 3;
/** A start or end tag has an effect besides the line breaks. */
const SPECIAL = 4;
/** Its content is markup that no client displays. */
const NOT_DISPLAYED = 8;
/** Its raw text is displayed as it is; that of all other elements, such as `<style>`, is not. */
const DISPLAYED_RAW_TEXT = 16;

for (const [names, layout] of [
  [
    `div tr li dt dd section article header footer main nav aside address center figure figcaption
     caption fieldset option body`,
    1,
  ],
  ['p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre xmp plaintext hr form', 2],
  ['a br img hr td th ul ol li blockquote pre', SPECIAL],
  ['head template', NOT_DISPLAYED],
  ['xmp plaintext', DISPLAYED_RAW_TEXT],
] as const) {
  for (const name of names.split(/\s+/)) LAYOUT[elementNumber(name)]! |= layout;
}

const [A, BR, IMG, HR, TD, TH, UL, OL, LI, BLOCKQUOTE, PRE] = [
  ...['a', 'br', 'img', 'hr', 'td', 'th', 'ul', 'ol', 'li', 'blockquote', 'pre'],
].map(elementNumber);

const HIDDEN_STYLE =
  /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|max-height)\s*:\s*0+(?:px)?\s*(?:[;!]|$))/i;

/** Finds the elements that are not displayed. */
class HiddenElements {
  readonly #html: string;
  /** No start tag before this offset can hide its element by its attributes. */
  #mentionedAt = 0;

  constructor(html: string) {
    this.#html = html;
  }

  includes(tokens: HtmlTokenizer): boolean {
    if ((LAYOUT[tokens.element]! & NOT_DISPLAYED) !== 0) return true;
    const from = tokens.attributesStart;
    if (this.#mentionedAt < from) this.#mentionedAt = this.#findMention(from);
    // A mention contains no ">", so it does not extend beyond the tag.
    if (this.#mentionedAt >= tokens.end) return false;
    return (
      tokens.attribute('hidden') !== undefined || HIDDEN_STYLE.test(tokens.attribute('style') ?? '')
    );
  }

  /** Each search starts after the previous result, so that the document is only read once. */
  #findMention(from: number): number {
    MAYBE_HIDDEN.lastIndex = from;
    return MAYBE_HIDDEN.test(this.#html) ? MAYBE_HIDDEN.lastIndex - 1 : this.#html.length;
  }
}

const MAYBE_HIDDEN = /none|hidden|opacity|max-height/gi;

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
  readonly #hiddenElements: HiddenElements;
  readonly #html: string;

  constructor(html: string) {
    this.#html = html;
    this.#hiddenElements = new HiddenElements(html);
  }

  isHidden(): boolean {
    return this.#hidden !== undefined;
  }

  #hide(name: string): void {
    if (!VOID_ELEMENTS.has(name)) this.#hidden = { name, depth: 1 };
  }

  // Only tags with the same name are counted, because email often leaves other tags unclosed.
  skipHidden(tokens: HtmlTokenizer): void {
    const hidden = this.#hidden;
    if (hidden === undefined || tokens.kind === 'text' || tokens.kind === 'raw-text') return;
    if (tokens.kind === 'start-tag' && implicitlyCloses(hidden.name, tokens)) {
      this.#hidden = undefined;
      this.open(tokens);
    } else if (tokens.name === hidden.name) {
      hidden.depth += tokens.kind === 'start-tag' ? 1 : -1;
      if (hidden.depth === 0) this.#hidden = undefined;
    }
  }

  /** Adds text from the document. Most of it is plain ASCII, or only whitespace between two tags. */
  addSourceText({ codes, start, end }: HtmlTokenizer): void {
    const html = this.#html;
    if (this.#preDepth > 0) {
      this.addText(html.slice(start, end));
      return;
    }
    let from = start;
    while (from < end && isBlank(codes[from]!)) from += 1;
    if (from > start) this.#spaces ||= 1;
    if (from === end) return;
    let to = end;
    while (isBlank(codes[to - 1]!)) to -= 1;
    const text = html.slice(from, to);
    if (isPlainAscii(codes, from, to)) this.#write(text);
    else this.#addEncodedText(text);
    if (to < end) this.#spaces ||= 1;
  }

  addText(raw: string): void {
    if (this.#preDepth > 0) this.addLines(decodeEntities(raw));
    else this.#addEncodedText(raw);
  }

  #addEncodedText(raw: string): void {
    const text = decodeEntities(raw).replace(INVISIBLE, '').replace(WHITESPACE, ' ');
    if (text === '') return;
    const from = text.charCodeAt(0) === SPACE ? 1 : 0;
    const to = text.charCodeAt(text.length - 1) === SPACE ? text.length - 1 : text.length;
    if (from === 1) this.#spaces ||= 1;
    if (from >= to) return;
    this.#write(text.slice(from, to));
    this.#spaces = to < text.length ? 1 : 0;
  }

  open(tokens: HtmlTokenizer): void {
    if (this.#hiddenElements.includes(tokens)) {
      this.#hide(tokens.name);
      return;
    }
    const layout = LAYOUT[tokens.element]!;
    this.#break(layout & BREAKS);
    if ((layout & SPECIAL) !== 0) this.#openSpecial(tokens);
  }

  #openSpecial(tokens: HtmlTokenizer): void {
    const { element } = tokens;
    switch (element) {
      case TD:
      case TH:
        this.#spaces = 2;
        break;
      case A:
        this.closeLink();
        this.#link = { address: displayAddress(tokens.attribute('href')), text: '' };
        break;
      case BR:
        this.#breaks = Math.min(2, this.#breaks + 1);
        break;
      case IMG:
        this.addText(tokens.attribute('alt') ?? '');
        break;
      case HR:
        this.#write('-----');
        this.#break(2);
        break;
      case UL:
      case OL:
        this.#lists.push({ next: element === OL ? 1 : undefined });
        if (this.#lists.length > 1) this.#breaks = Math.min(this.#breaks, 1);
        break;
      case LI:
        this.#marker = this.#nextMarker();
        break;
      case BLOCKQUOTE:
        this.#quoteDepth += 1;
        break;
      case PRE:
        this.#preDepth += 1;
        break;
    }
  }

  close(tokens: HtmlTokenizer): void {
    const layout = LAYOUT[tokens.element]!;
    if ((layout & SPECIAL) === 0) this.#break(layout & BREAKS);
    else this.#closeSpecial(tokens.element, layout & BREAKS);
  }

  #closeSpecial(element: number, breaks: number): void {
    if (element === TD) return;
    if (element === A) this.closeLink();
    const nested = (element === UL || element === OL) && this.#lists.length > 1;
    this.#break(nested ? 1 : breaks);
    if (element === UL || element === OL) this.#lists.pop();
    if (element === LI) this.#marker = '';
    if (element === BLOCKQUOTE) this.#quoteDepth = Math.max(0, this.#quoteDepth - 1);
    if (element === PRE) this.#preDepth = Math.max(0, this.#preDepth - 1);
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

function isBlank(code: number): boolean {
  return code === SPACE || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Printable ASCII with single spaces and no character references. */
function isPlainAscii(codes: Uint16Array, from: number, to: number): boolean {
  let before = 0;
  for (let i = from; i < to; i++) {
    const code = codes[i]!;
    if (code < SPACE || code > 0x7e || code === AMPERSAND) return false;
    if (code === SPACE && before === SPACE) return false;
    before = code;
  }
  return true;
}

/** A head ends where the body starts, and a paragraph where another block starts. */
function implicitlyCloses(hidden: string, opened: HtmlTokenizer): boolean {
  if (hidden === 'head') return opened.name === 'body';
  return hidden === 'p' && (LAYOUT[opened.element]! & BREAKS) > 0;
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
