import {
  COMMENT_END,
  findRawTextEnd,
  isAsciiLetter,
  isWhitespace,
  skipWhitespace,
} from './characters.ts';
import { ENDLESS_ELEMENT, RAW_TEXT_ELEMENTS } from './elements.ts';
import { decodeEntities } from './entities.ts';

/**
 * Splits HTML into text, start tags, end tags and raw text, each with its offsets, following the
 * tokenization rules of browsers (WHATWG HTML 13.2.5). Comments and declarations are skipped. It never
 * throws and never looks back, so hostile markup costs no more than its length. A tag, comment or raw
 * text element that is not closed extends to the end of the document. Attributes are only parsed on
 * request, because most readers need few of them.
 */
export class HtmlTokenizer {
  /** The kind of the current token. `raw-text` is the content of elements such as `<style>`. */
  kind: 'text' | 'start-tag' | 'end-tag' | 'raw-text' = 'text';
  /** The lowercase name of the current tag, or of the element that the raw text is in. */
  name = '';
  /** The range of the current token; for tags, from `<` to after `>`. */
  start = 0;
  end = 0;
  /** Where the tag, comment or raw text element starts that the document ends in. */
  unclosedAt: number | undefined;
  readonly #html: string;
  #position = 0;
  /** The end of the tag's name, where its attributes start. */
  #nameEnd = 0;
  /** The end of the raw text that follows the current tag, or -1. */
  #rawTextEnd = -1;

  constructor(html: string) {
    this.#html = html;
  }

  /** Advances to the next token; false at the end. */
  next(): boolean {
    const html = this.#html;
    if (this.#rawTextEnd !== -1) return this.#readRawText();
    while (this.#position < html.length) {
      const start = this.#position;
      if (!isMarkup(html, start)) return this.#emit('text', start, findMarkup(html, start + 1));
      const isEndTag = html.charCodeAt(start + 1) === SLASH;
      const nameStart = start + (isEndTag ? 2 : 1);
      if (isAsciiLetter(html.charCodeAt(nameStart))) {
        if (this.#readTag(start, nameStart, isEndTag)) return true;
        break;
      }
      const end = findCommentEnd(html, start);
      if (end === -1) {
        this.unclosedAt = start;
        break;
      }
      this.#position = end;
    }
    this.#position = html.length;
    return false;
  }

  /** The decoded value of an attribute of the current tag; undefined when the tag lacks it. */
  attribute(name: string): string | undefined {
    const range = this.attributeRange(name);
    return range && decodeEntities(this.#html.slice(range.start, range.end));
  }

  /** The range of an attribute's value, without its quotes. */
  attributeRange(name: string): { start: number; end: number } | undefined {
    const html = this.#html;
    let position = this.#nextAttribute(this.#nameEnd);
    while (position !== -1) {
      const { nameStart, nameEnd, valueStart, valueEnd } = attributeOffsets;
      const isWanted =
        nameEnd - nameStart === name.length &&
        html.slice(nameStart, nameEnd).toLowerCase() === name;
      if (isWanted) return { start: valueStart, end: valueEnd };
      position = this.#nextAttribute(position);
    }
    return undefined;
  }

  /** All attributes of the current tag in source order, with duplicates. */
  attributes(): HtmlAttribute[] {
    const html = this.#html;
    const attributes: HtmlAttribute[] = [];
    for (let next = this.#nextAttribute(this.#nameEnd); next !== -1; ) {
      const { nameStart, nameEnd, valueStart, valueEnd } = attributeOffsets;
      attributes.push({
        name: html.slice(nameStart, nameEnd).toLowerCase(),
        value: html.slice(valueStart, valueEnd),
        start: nameStart,
        valueStart,
      });
      next = this.#nextAttribute(next);
    }
    return attributes;
  }

  /** Whether the attributes of the current tag match a pattern anywhere; cheaper than parsing them. */
  mentions(pattern: RegExp): boolean {
    return this.end > this.#nameEnd + 2 && pattern.test(this.#html.slice(this.#nameEnd, this.end));
  }

  /** Parses one attribute into `attributeOffsets`; -1 at the end of the tag. */
  #nextAttribute(from: number): number {
    const start = skipToAttribute(this.#html, from);
    return start >= this.end - 1 ? -1 : readAttribute(this.#html, start);
  }

  #readTag(start: number, nameStart: number, isEndTag: boolean): boolean {
    const html = this.#html;
    const nameEnd = findNameEnd(html, nameStart);
    const hasNoAttributes = html.charCodeAt(nameEnd) === GREATER;
    const close = hasNoAttributes ? nameEnd : findTagClose(html, nameEnd);
    if (close === -1) {
      this.unclosedAt = start;
      return false;
    }
    this.name = lowercaseName(html, nameStart, nameEnd);
    this.#nameEnd = nameEnd;
    this.#emit(isEndTag ? 'end-tag' : 'start-tag', start, close + 1);
    if (!isEndTag && RAW_TEXT_ELEMENTS.has(this.name)) this.#findRawText(start);
    return true;
  }

  #findRawText(tagStart: number): void {
    const isEndless = this.name === ENDLESS_ELEMENT;
    const end = isEndless ? -1 : findRawTextEnd(this.#html, this.name, this.#position);
    if (end === -1 && !isEndless) this.unclosedAt = tagStart;
    this.#rawTextEnd = end === -1 ? this.#html.length : end;
  }

  #readRawText(): true {
    const end = this.#rawTextEnd;
    this.#rawTextEnd = -1;
    return this.#emit('raw-text', this.#position, end);
  }

  #emit(kind: HtmlTokenizer['kind'], start: number, end: number): true {
    this.kind = kind;
    this.start = start;
    this.end = end;
    this.#position = end;
    return true;
  }
}

export interface HtmlAttribute {
  /** In lowercase. */
  name: string;
  /** As written, with entities. */
  value: string;
  /** Where the name starts. */
  start: number;
  /** Where the value starts, after its quote. */
  valueStart: number;
}

const SPACE = 0x20;
const BANG = 0x21;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUESTION = 0x3f;

/** Whether a tag, comment or declaration starts here; other `<` are text. */
function isMarkup(html: string, at: number): boolean {
  if (html.charCodeAt(at) !== LESS) return false;
  const next = html.charCodeAt(at + 1);
  if (isAsciiLetter(next) || next === BANG || next === QUESTION) return true;
  return next === SLASH && at + 2 < html.length;
}

/** Where the next tag, comment or declaration starts. */
function findMarkup(html: string, from: number): number {
  let at = html.indexOf('<', from);
  while (at !== -1 && !isMarkup(html, at)) at = html.indexOf('<', at + 1);
  return at === -1 ? html.length : at;
}

/**
 * The end of a comment or of what browsers treat as one (`<!…>`, `<?…>`, `</` without a name); -1 when
 * it is not closed. `<!-->` and `<!--->` are complete comments (WHATWG HTML 13.2.5.43-44).
 */
function findCommentEnd(html: string, start: number): number {
  if (!html.startsWith('<!--', start)) return html.indexOf('>', start + 2) + 1 || -1;
  if (html.startsWith('>', start + 4)) return start + 5;
  if (html.startsWith('->', start + 4)) return start + 6;
  COMMENT_END.lastIndex = start + 4;
  return COMMENT_END.test(html) ? COMMENT_END.lastIndex : -1;
}

function findNameEnd(html: string, from: number): number {
  let end = from;
  while (end < html.length) {
    const code = html.charCodeAt(end);
    if (code <= GREATER && (code === GREATER || code === SLASH || isWhitespace(code))) break;
    end += 1;
  }
  return end;
}

/** The `>` that ends the tag, which is not the one inside a quoted value; -1 when it is missing. */
function findTagClose(html: string, from: number): number {
  let position = skipToAttribute(html, from);
  while (position !== -1 && position < html.length) {
    if (html.charCodeAt(position) === GREATER) return position;
    const end = readAttribute(html, position);
    position = end === -1 ? -1 : skipToAttribute(html, end);
  }
  return -1;
}

function skipToAttribute(html: string, from: number): number {
  let position = from;
  for (;;) {
    const code = html.charCodeAt(position);
    if (code !== SLASH && !isWhitespace(code)) return position;
    position += 1;
  }
}

/** Written by readAttribute, so that scanning a tag allocates nothing. */
const attributeOffsets = { nameStart: 0, nameEnd: 0, valueStart: 0, valueEnd: 0 };

/** Parses the attribute that starts here into `attributeOffsets` and returns its end; -1 when it is not closed. */
function readAttribute(html: string, start: number): number {
  // A leading `=` is part of the name.
  let nameEnd = start + 1;
  let code = html.charCodeAt(nameEnd);
  while (code > GREATER || (code < EQUALS && code !== SLASH && !isWhitespace(code))) {
    nameEnd += 1;
    code = html.charCodeAt(nameEnd);
  }
  attributeOffsets.nameStart = start;
  attributeOffsets.nameEnd = nameEnd;
  let position = nameEnd;
  if (code <= SPACE) {
    position = skipWhitespace(html, nameEnd);
    code = html.charCodeAt(position);
  }
  if (code !== EQUALS) {
    attributeOffsets.valueStart = nameEnd;
    attributeOffsets.valueEnd = nameEnd;
    return nameEnd;
  }
  position = skipWhitespace(html, position + 1);
  const quote = html.charCodeAt(position);
  if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
    const close = html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", position + 1);
    attributeOffsets.valueStart = position + 1;
    attributeOffsets.valueEnd = close;
    return close === -1 ? -1 : close + 1;
  }
  attributeOffsets.valueStart = position;
  while (position < html.length) {
    code = html.charCodeAt(position);
    if (code === GREATER || isWhitespace(code)) break;
    position += 1;
  }
  attributeOffsets.valueEnd = position;
  return position;
}

/** The lowercase name. The names that email uses most are recognized without allocating a string. */
function lowercaseName(html: string, start: number, end: number): string {
  const length = end - start;
  const known = COMMON_NAMES[length] ?? [];
  next: for (const name of known) {
    for (let i = 0; i < length; i++) {
      const code = html.charCodeAt(start + i);
      const lower = code >= 0x41 && code <= 0x5a ? code | LOWERCASE_BIT : code;
      if (lower !== name.charCodeAt(i)) continue next;
    }
    return name;
  }
  return html.slice(start, end).toLowerCase();
}

const LOWERCASE_BIT = 0x20;
/** By length, the most frequent first. */
const COMMON_NAMES: readonly string[][] = [[], [], [], [], [], []];
for (const name of `a p b i u td tr br li th ul ol h1 h2 h3 hr em dd dt dl img div pre col sup sub span
  body head html font meta link table tbody thead tfoot style small title`.split(/\s+/)) {
  COMMON_NAMES[name.length]?.push(name);
}
