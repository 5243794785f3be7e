import { decodeEntities } from './entities.ts';

/**
 * Reads HTML from front to back, once: text, opening tags, closing tags. It never throws and never
 * looks back, so hostile markup costs no more than its length. Where a tag, a quote or a comment is
 * not closed, the rest of the document belongs to it, as in a browser. The contents of scripts and
 * styles are passed over.
 */
export class HtmlTokens {
  /** What next() stopped at. */
  kind: 'text' | 'open' | 'close' = 'text';
  /** Of a tag, in lower case. */
  name = '';
  readonly #html: string;
  #start = 0;
  #end = 0;
  #position = 0;

  constructor(html: string) {
    this.#html = html;
  }

  next(): boolean {
    const html = this.#html;
    while (this.#position < html.length) {
      const start = this.#position;
      const less = this.#markupFrom(start);
      if (less > start) return this.#stopAt('text', start, less);
      const first = html.charCodeAt(start + 1);
      if (first === BANG || first === QUESTION) {
        this.#position = this.#endOfDeclaration(start);
        continue;
      }
      const isClosing = first === SLASH;
      const nameStart = start + (isClosing ? 2 : 1);
      const nameEnd = endOfName(html, nameStart);
      const end = endOfTag(html, nameEnd);
      if (end === -1) break;
      this.name = nameBetween(html, nameStart, nameEnd);
      this.#stopAt(isClosing ? 'close' : 'open', nameEnd, end);
      this.#position = end + 1;
      if (!isClosing && RAW_TEXT.has(this.name)) this.#passRawText(this.name);
      return true;
    }
    this.#position = html.length;
    return false;
  }

  /** The text at hand, as it is written. */
  rawText(): string {
    return this.#html.slice(this.#start, this.#end);
  }

  /** Where the text at hand stands in the document. */
  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** An attribute of the tag at hand, decoded; undefined when the tag lacks it. */
  attribute(wanted: string): string | undefined {
    const place = this.attributePlace(wanted);
    return place && decodeEntities(this.#html.slice(place.start, place.end));
  }

  /** Where the value of an attribute stands in the document, without its quotes. */
  attributePlace(wanted: string): { start: number; end: number } | undefined {
    const html = this.#html;
    let i = this.#start;
    while (i < this.#end) {
      i = pastBlanks(html, i, this.#end);
      const nameStart = i;
      while (i < this.#end && !ENDS_ATTRIBUTE_NAME.has(html.charCodeAt(i))) i += 1;
      const isWanted =
        i - nameStart === wanted.length && html.slice(nameStart, i).toLowerCase() === wanted;
      const valueStart = pastBlanks(html, i, this.#end);
      if (html.charCodeAt(valueStart) !== EQUALS || valueStart >= this.#end) {
        if (isWanted) return { start: i, end: i };
        i = Math.max(valueStart, nameStart + 1);
        continue;
      }
      const value = this.#valueFrom(pastBlanks(html, valueStart + 1, this.#end));
      if (isWanted) return value;
      i = value.end + 1;
    }
    return undefined;
  }

  /** Whether the attributes of the tag at hand match anywhere: a quick look before a slow one. */
  mentions(pattern: RegExp): boolean {
    return this.#end > this.#start + 1 && pattern.test(this.rawText());
  }

  #stopAt(kind: 'text' | 'open' | 'close', start: number, end: number): true {
    this.kind = kind;
    this.#start = start;
    this.#end = end;
    this.#position = end;
    return true;
  }

  /** Where the next markup begins; a "<" that begins none is text. */
  #markupFrom(from: number): number {
    const html = this.#html;
    let less = html.indexOf('<', from);
    while (less !== -1 && !beginsMarkup(html, less)) less = html.indexOf('<', less + 1);
    return less === -1 ? html.length : less;
  }

  #endOfDeclaration(start: number): number {
    const isComment = this.#html.startsWith('<!--', start);
    const end = this.#html.indexOf(isComment ? '-->' : '>', start + 2);
    if (end === -1) return this.#html.length;
    return end + (isComment ? 3 : 1);
  }

  #passRawText(name: string): void {
    const html = this.#html;
    let at = html.indexOf('</', this.#position);
    while (at !== -1 && html.slice(at + 2, at + 2 + name.length).toLowerCase() !== name) {
      at = html.indexOf('</', at + 2);
    }
    this.#position = at === -1 ? html.length : at;
  }

  #valueFrom(at: number): { start: number; end: number } {
    const html = this.#html;
    const quote = html.charCodeAt(at);
    if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
      const close = html.indexOf(html[at]!, at + 1);
      return { start: at + 1, end: close === -1 || close > this.#end ? this.#end : close };
    }
    let end = at;
    while (end < this.#end && html.charCodeAt(end) > SPACE) end += 1;
    return { start: at, end };
  }
}

const BANG = 0x21;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUESTION = 0x3f;
const SPACE = 0x20;

const RAW_TEXT = new Set(['script', 'style', 'title', 'template', 'textarea', 'iframe', 'xmp']);
const ENDS_ATTRIBUTE_NAME = new Set([EQUALS, SLASH, SPACE, 0x09, 0x0a, 0x0c, 0x0d]);

function beginsMarkup(html: string, less: number): boolean {
  const first = html.charCodeAt(less + 1);
  if (first === BANG || first === QUESTION) return true;
  return isLetter(first === SLASH ? html.charCodeAt(less + 2) : first);
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

function endOfName(html: string, from: number): number {
  let end = from;
  while (end < html.length) {
    const code = html.charCodeAt(end);
    if (code <= SPACE || code === GREATER || code === SLASH) break;
    end += 1;
  }
  return end;
}

/**
 * A name in lower case. The few that mail is made of are found without making a string: there is one
 * of each, which tables know at sight.
 */
function nameBetween(html: string, start: number, end: number): string {
  const length = end - start;
  const known = length < SHORT_NAMES.length ? SHORT_NAMES[length]! : [];
  next: for (const name of known) {
    for (let i = 0; i < length; i++) {
      if ((html.charCodeAt(start + i) | LOWER_BIT) !== name.charCodeAt(i)) continue next;
    }
    return name;
  }
  return html.slice(start, end).toLowerCase();
}

/** By their length, the frequent ones first. No sign that ends a name becomes a letter by this bit. */
const LOWER_BIT = 0x20;
const SHORT_NAMES: readonly string[][] = [[], [], [], [], [], []];
for (const name of `a p b i u td tr br li th ul ol h1 h2 h3 hr em dd dt dl img div pre col sup sub span
  body head html font meta link table tbody thead tfoot style small title`.split(/\s+/)) {
  SHORT_NAMES[name.length]!.push(name);
}

/** The ">" that closes the tag: one inside a quoted value does not. -1 when there is none. */
function endOfTag(html: string, from: number): number {
  let i = from;
  while (i < html.length) {
    const code = html.charCodeAt(i);
    if (code === GREATER) return i;
    if (code === EQUALS) {
      i = pastBlanks(html, i + 1, html.length);
      const quote = html.charCodeAt(i);
      if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
        i = html.indexOf(html[i]!, i + 1);
        if (i === -1) return -1;
      } else {
        continue;
      }
    }
    i += 1;
  }
  return -1;
}

function pastBlanks(html: string, from: number, end: number): number {
  let i = from;
  while (i < end && html.charCodeAt(i) <= SPACE) i += 1;
  return i;
}
