import { COMMENT_END, findRawTextEnd, isAsciiLetter, isWhitespace } from './characters.ts';
import { type CodeUnits, releaseCodeUnits, takeCodeUnits } from './code-units.ts';
import { ENDLESS_ELEMENT, RAW_TEXT_ELEMENTS } from './elements.ts';
import { decodeEntities } from './entities.ts';
import {
  ELEMENT_COUNT,
  elementName,
  elementNumber,
  elementOfPackedName,
  NAME_CHARACTER_BITS,
  NAME_CHARACTERS,
  OTHER_ELEMENT,
  PACKED_NAME_CHARS_MAX,
} from './tag-names.ts';

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
  /** The number of the current tag, or of the element that the raw text is in (tag-names.ts). */
  element = OTHER_ELEMENT;
  /** The range of the current token; for tags, from `<` to after `>`. */
  start = 0;
  end = 0;
  /** Where the tag, comment or raw text element starts that the document ends in. */
  unclosedAt: number | undefined;
  /** The document, followed by a NUL; not to be read after `next` has returned false. */
  codes: Uint16Array;
  readonly #html: string;
  readonly #codeUnits: CodeUnits;
  #position = 0;
  /** The range of the tag's name. Its attributes start where it ends. */
  #nameStart = 0;
  #nameEnd = 0;
  /** The end of the raw text that follows the current tag, or -1. */
  #rawTextEnd = -1;

  constructor(html: string) {
    this.#html = html;
    this.#codeUnits = takeCodeUnits(html);
    this.codes = this.#codeUnits.units;
  }

  /** The lowercase name of the current tag, or of the element that the raw text is in. */
  get name(): string {
    if (this.element !== OTHER_ELEMENT) return elementName(this.element);
    return this.#html.slice(this.#nameStart, this.#nameEnd).toLowerCase();
  }

  /** Advances to the next token; false at the end. */
  next(): boolean {
    if (this.#rawTextEnd !== -1) return this.#readRawText();
    const { codes } = this;
    const { length } = this.#html;
    while (this.#position < length) {
      const start = this.#position;
      if (codes[start] !== LESS) return this.#readText(start);
      const isEndTag = codes[start + 1] === SLASH;
      const nameStart = start + (isEndTag ? 2 : 1);
      if (isAsciiLetter(codes[nameStart]!)) {
        if (this.#readTag(start, nameStart, isEndTag)) return true;
        break;
      }
      if (!isMarkup(codes, start, length)) return this.#readText(start);
      const end = findCommentEnd(this.#html, start);
      if (end === -1) {
        this.unclosedAt = start;
        break;
      }
      this.#position = end;
    }
    this.#finish();
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

  /** Where the attributes of the current tag start. */
  get attributesStart(): number {
    return this.#nameEnd;
  }

  /** Parses one attribute into `attributeOffsets`; -1 at the end of the tag. */
  #nextAttribute(from: number): number {
    const start = skipToAttribute(this.codes, from);
    return start >= this.end - 1 ? -1 : readAttribute(this.#html, this.codes, start);
  }

  #finish(): void {
    if (this.codes === FINISHED) return;
    this.#position = this.#html.length;
    this.codes = FINISHED;
    releaseCodeUnits(this.#codeUnits);
  }

  /** The text up to the next tag, comment or declaration. */
  #readText(start: number): true {
    const html = this.#html;
    let end = html.indexOf('<', start + 1);
    while (end !== -1 && !isMarkup(this.codes, end, html.length)) end = html.indexOf('<', end + 1);
    return this.#emit('text', start, end === -1 ? html.length : end);
  }

  #readTag(start: number, nameStart: number, isEndTag: boolean): boolean {
    const nameEnd = this.#readName(nameStart);
    const hasNoAttributes = this.codes[nameEnd] === GREATER;
    const close = hasNoAttributes ? nameEnd : findTagClose(this.#html, this.codes, nameEnd);
    if (close === -1) {
      this.unclosedAt = start;
      return false;
    }
    this.#emit(isEndTag ? 'end-tag' : 'start-tag', start, close + 1);
    if (!isEndTag && IS_RAW_TEXT[this.element] === 1) this.#findRawText(start);
    return true;
  }

  /** Sets `element`, and returns the end of the name. */
  #readName(start: number): number {
    const { codes } = this;
    let packed = 0;
    let end = start;
    let code = codes[start]!;
    while (code < 0x80) {
      const character = NAME_CHARACTERS[code]!;
      // The NUL after the document ends a name, too.
      if (character === 0) break;
      packed = (packed << NAME_CHARACTER_BITS) | character;
      end += 1;
      code = codes[end]!;
    }
    if (isNameEnd(code) && end - start <= PACKED_NAME_CHARS_MAX) {
      this.element = elementOfPackedName(packed);
    } else {
      // Lowercasing makes ASCII letters of some others.
      end = findNameEnd(codes, end, this.#html.length);
      this.element = elementNumber(this.#html.slice(start, end).toLowerCase());
    }
    this.#nameStart = start;
    this.#nameEnd = end;
    return end;
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

const BANG = 0x21;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUESTION = 0x3f;

/** What `codes` is after the end. */
const FINISHED = new Uint16Array();

/** Whether this `<` starts a tag, comment or declaration; others are text. */
function isMarkup(codes: Uint16Array, at: number, length: number): boolean {
  const next = codes[at + 1]!;
  if (isAsciiLetter(next) || next === BANG || next === QUESTION) return true;
  return next === SLASH && at + 2 < length;
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

function isNameEnd(code: number): boolean {
  return code <= GREATER && (code === GREATER || code === SLASH || isWhitespace(code));
}

function findNameEnd(codes: Uint16Array, from: number, length: number): number {
  let end = from;
  while (end < length && !isNameEnd(codes[end]!)) end += 1;
  return end;
}

/** The `>` that ends the tag, which is not the one inside a quoted value; -1 when it is missing. */
function findTagClose(html: string, codes: Uint16Array, from: number): number {
  let position = skipToAttribute(codes, from);
  while (position !== -1 && position < html.length) {
    if (codes[position] === GREATER) return position;
    const end = readAttribute(html, codes, position);
    position = end === -1 ? -1 : skipToAttribute(codes, end);
  }
  return -1;
}

function skipToAttribute(codes: Uint16Array, from: number): number {
  let position = from;
  while (codes[position] === SLASH || isWhitespace(codes[position]!)) position += 1;
  return position;
}

function skipWhitespace(codes: Uint16Array, from: number): number {
  let position = from;
  while (isWhitespace(codes[position]!)) position += 1;
  return position;
}

/** Written by readAttribute, so that scanning a tag allocates nothing. */
const attributeOffsets = { nameStart: 0, nameEnd: 0, valueStart: 0, valueEnd: 0 };

/** Parses the attribute that starts here into `attributeOffsets` and returns its end; -1 when it is not closed. */
function readAttribute(html: string, codes: Uint16Array, start: number): number {
  // A leading `=` is part of the name.
  let nameEnd = start + 1;
  while (nameEnd < html.length && !isAttributeNameEnd(codes[nameEnd]!)) nameEnd += 1;
  attributeOffsets.nameStart = start;
  attributeOffsets.nameEnd = nameEnd;
  let position = codes[nameEnd] === EQUALS ? nameEnd : skipWhitespace(codes, nameEnd);
  if (codes[position] !== EQUALS) {
    attributeOffsets.valueStart = nameEnd;
    attributeOffsets.valueEnd = nameEnd;
    return nameEnd;
  }
  position = skipWhitespace(codes, position + 1);
  const quote = codes[position];
  if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
    const close = html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", position + 1);
    attributeOffsets.valueStart = position + 1;
    attributeOffsets.valueEnd = close;
    return close === -1 ? -1 : close + 1;
  }
  attributeOffsets.valueStart = position;
  while (position < html.length && codes[position] !== GREATER && !isWhitespace(codes[position]!)) {
    position += 1;
  }
  attributeOffsets.valueEnd = position;
  return position;
}

function isAttributeNameEnd(code: number): boolean {
  return code === EQUALS || isNameEnd(code);
}

const IS_RAW_TEXT = new Uint8Array(ELEMENT_COUNT);
for (const name of RAW_TEXT_ELEMENTS) IS_RAW_TEXT[elementNumber(name)] = 1;
