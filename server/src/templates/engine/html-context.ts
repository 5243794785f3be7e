import {
  COMMENT_END,
  findRawTextEnd,
  isAsciiLetter,
  isWhitespace,
} from '../../lib/html/characters.ts';
import { ENDLESS_ELEMENT, RAW_TEXT_ELEMENTS } from '../../lib/html/elements.ts';
import type { OutputContext, UrlCheck } from './content-nodes.ts';
import { advanceCss } from './css-context.ts';
import { type HtmlState, initialState, joinStates, type Quote } from './html-state.ts';
import { joinHazard, outputContext } from './output-contexts.ts';
import { advanceUrl, urlCheckOf } from './url-attributes.ts';

/**
 * Follows the author's HTML like a browser's tokenizer (WHATWG HTML 13.2.5) to determine the context of
 * each placeholder. Input: literal text, one chunk at a time. Output: the context of the next output,
 * or the reason why no output is allowed there. Linear time.
 *
 * It shares the element sets and character rules of lib/html but not its tokenizer, for three reasons:
 * placeholders interrupt the text inside any construct, even inside a tag name; branches need the state
 * there to be copied and merged; and conditional comments, which other readers skip, are HTML here,
 * because Outlook displays them.
 */

/** An edit to the literal text at an offset: the start or end of a URL attribute, or an added quote. */
export interface HtmlEdit {
  offset: number;
  kind: 'url-open' | 'url-close' | 'quote';
  check: UrlCheck;
}

const CONDITION = /\[if[^\]<>]*\]>(<!-->|-->)?/iy;
const TAG_NAME_END = '/>';
const ATTRIBUTE_NAME_END = '/>=';
const UNQUOTED_VALUE_END = '>';
const NAME_MAX_CHARS = 64;

export class HtmlContext {
  #state: HtmlState = initialState();
  #error: string | undefined;
  #edits: HtmlEdit[] = [];
  #valueStart = -1;

  clone(): HtmlContext {
    const copy = new HtmlContext();
    copy.copyFrom(this);
    return copy;
  }

  /** Adopts the state of another context. */
  copyFrom(other: HtmlContext): void {
    this.#state = { ...other.#state };
  }

  /** Merges the end of another branch. Returns false when the same text cannot follow both. */
  join(other: HtmlContext): boolean {
    const joined = joinStates(this.#state, other.#state);
    if (joined) this.#state = joined;
    return joined !== undefined;
  }

  /** Whether markup is allowed here: partials, captured HTML, a layout's content. */
  get inText(): boolean {
    return this.#state.mode === 'text' && this.#state.joinHazard === undefined;
  }

  /** Why a placeholder whose value may be empty cannot follow the text so far. */
  get joinHazard(): string | undefined {
    return this.#state.joinHazard;
  }

  /** Why the text so far cannot be parsed. */
  get error(): string | undefined {
    return this.#error;
  }

  get inComment(): boolean {
    return this.#state.mode === 'comment';
  }

  get inConditionalComment(): boolean {
    return this.#state.conditional;
  }

  advance(text: string): HtmlEdit[] {
    this.#edits = [];
    this.#valueStart = -1;
    this.#state.joinHazard = undefined;
    if (this.#state.nameMayContinue && !/^[\s/>]/.test(text)) {
      this.#error = 'An attribute name is split across branches. Put a space between them.';
    }
    this.#state.nameMayContinue = false;
    let i = 0;
    while (i < text.length) {
      const conditional = this.#state.conditional;
      const end = conditional ? text.indexOf('-->', i) : -1;
      const limit = end === -1 ? text.length : end;
      while (i < limit && this.#state.conditional === conditional) i = this.#step(text, i, limit);
      if (end !== -1 && i >= end) {
        if (this.#state.urlOpen) this.#edit('url-close', end);
        this.#state.conditional = false;
        this.#state.mode = 'text';
        this.#state.urlOpen = false;
        i = end + 3;
      }
    }
    if (this.#state.mode === 'value' && this.#valueStart !== -1 && this.#urlCheck()) {
      this.#edit('url-open', this.#valueStart);
      this.#state.urlOpen = true;
    }
    this.#state.joinHazard = joinHazard(this.#state, text);
    return this.#edits;
  }

  /** The context of an output here, or why none is allowed. */
  outputContext(): OutputContext | { problem: string } {
    return outputContext(this.#state);
  }

  /** Adds quotes around an unquoted value. Reports true once per attribute. */
  addQuote(): { added: boolean; url: boolean } {
    if (this.#state.mode !== 'before-value') return { added: false, url: false };
    this.#openValue('+', -1);
    const url = this.#urlCheck() !== undefined;
    this.#state.urlOpen = url;
    return { added: true, url };
  }

  /** Advances by one construct, never past `limit`. */
  #step(text: string, i: number, limit: number): number {
    switch (this.#state.mode) {
      case 'text': {
        const open = find(text, '<', i, limit);
        if (open === -1) return limit;
        this.#state.mode = 'tag-open';
        return open + 1;
      }
      case 'tag-open':
        return this.#tagOpen(text, i);
      case 'end-tag-open':
        this.#state.mode = isAsciiLetter(text.charCodeAt(i))
          ? 'tag-name'
          : text[i] === '>'
            ? 'text'
            : 'bogus';
        this.#startTag(true);
        return text[i] === '>' ? i + 1 : i;
      case 'markup':
        return this.#markup(text, i, limit);
      case 'comment': {
        COMMENT_END.lastIndex = i;
        const end = COMMENT_END.exec(text);
        if (!end || end.index >= limit) return limit;
        this.#state.mode = 'text';
        return end.index + end[0].length;
      }
      case 'bogus': {
        const end = find(text, '>', i, limit);
        if (end === -1) return limit;
        this.#state.mode = 'text';
        return end + 1;
      }
      case 'raw-text':
        return this.#rawText(text, i, limit);
      default:
        return this.#insideTag(text, i, limit);
    }
  }

  #tagOpen(text: string, i: number): number {
    const character = text[i] ?? '';
    if (isAsciiLetter(text.charCodeAt(i))) {
      this.#state.mode = 'tag-name';
      this.#startTag(false);
      return i;
    }
    if (character === '/') this.#state.mode = 'end-tag-open';
    else if (character === '!') this.#state.mode = 'markup';
    else if (character === '?') this.#state.mode = 'bogus';
    else {
      this.#state.mode = 'text';
      return i;
    }
    return i + 1;
  }

  #startTag(endTag: boolean): void {
    this.#state.endTag = endTag;
    this.#state.tag = '';
    this.#state.attribute = '';
    this.#state.scriptType = '';
  }

  /** After `<!`: a comment, an Outlook conditional, or a declaration. */
  #markup(text: string, i: number, limit: number): number {
    if (!text.startsWith('--', i)) {
      this.#state.mode = 'bogus';
      return i;
    }
    const start = i + 2;
    CONDITION.lastIndex = start;
    const condition = this.#state.conditional ? null : CONDITION.exec(text);
    if (condition) {
      this.#state.mode = 'text';
      this.#state.conditional = condition[1] === undefined;
      return start + condition[0].length;
    }
    // `<!-->` and `<!--->` are complete comments (WHATWG HTML 13.2.5.43-44).
    const short = text.startsWith('>', start) ? 1 : text.startsWith('->', start) ? 2 : 0;
    this.#state.mode = short > 0 ? 'text' : 'comment';
    return Math.min(start + short, limit);
  }

  #insideTag(text: string, i: number, limit: number): number {
    const character = text[i] ?? '';
    switch (this.#state.mode) {
      case 'tag-name': {
        const end = findEnd(text, TAG_NAME_END, i, limit);
        this.#state.tag = (this.#state.tag + text.slice(i, end))
          .toLowerCase()
          .slice(0, NAME_MAX_CHARS);
        if (end < limit) this.#state.mode = 'in-tag';
        return end;
      }
      case 'in-tag':
      case 'after-attribute-name':
        if (character === '>') return this.#finishTag(i);
        if (character === '=' && this.#state.mode === 'after-attribute-name') {
          this.#state.mode = 'before-value';
          return i + 1;
        }
        if (isWhitespace(text.charCodeAt(i))) return i + 1;
        if (character === '/') {
          this.#state.mode = 'in-tag';
          return i + 1;
        }
        this.#state.mode = 'attribute-name';
        this.#state.attribute = character.toLowerCase();
        return i + 1;
      case 'attribute-name': {
        const end = findEnd(text, ATTRIBUTE_NAME_END, i, limit);
        const name = this.#state.attribute + text.slice(i, end);
        this.#state.attribute = name.toLowerCase().slice(0, NAME_MAX_CHARS);
        if (end >= limit) return limit;
        if (text[end] === '=') this.#state.mode = 'before-value';
        else this.#state.mode = 'after-attribute-name';
        return text[end] === '=' ? end + 1 : end;
      }
      case 'before-value':
        if (isWhitespace(text.charCodeAt(i))) return i + 1;
        if (character === '>') return this.#finishTag(i);
        if (character === '"' || character === "'") {
          this.#openValue(character, i + 1);
          return i + 1;
        }
        this.#openValue('', i);
        return i;
      default:
        return this.#value(text, i, limit);
    }
  }

  #openValue(quote: Quote, at: number): void {
    this.#state.mode = 'value';
    this.#state.quote = quote;
    this.#state.css = 'plain';
    this.#state.urlPart = 'path';
    this.#valueStart = at;
    if (this.#state.tag === 'script' && this.#state.attribute === 'type')
      this.#state.scriptType = '';
  }

  #value(text: string, i: number, limit: number): number {
    const quoted = this.#state.quote === '"' || this.#state.quote === "'";
    const found = quoted
      ? find(text, this.#state.quote, i, limit)
      : findEnd(text, UNQUOTED_VALUE_END, i, limit);
    const end = found === -1 ? limit : found;
    // Only attributes that contain placeholders matter, and most do not.
    const whole = end < limit && this.#valueStart === i;
    if (!whole || this.#state.tag === 'script') this.#readValue(text.slice(i, end));
    if (end >= limit) return limit;
    if (this.#state.urlOpen) this.#edit('url-close', end);
    if (this.#state.quote === '+') this.#edit('quote', end);
    this.#state.urlOpen = false;
    this.#valueStart = -1;
    this.#state.mode = 'in-tag';
    return quoted ? end + 1 : end;
  }

  #readValue(chunk: string): void {
    this.#state.urlPart = advanceUrl(this.#state.urlPart, chunk);
    if (this.#state.attribute === 'style') this.#state.css = advanceCss(this.#state.css, chunk);
    if (this.#state.tag === 'script' && this.#state.attribute === 'type') {
      this.#state.scriptType = (this.#state.scriptType + chunk)
        .toLowerCase()
        .slice(0, NAME_MAX_CHARS);
    }
    if (this.#state.quote === '+' && chunk.includes('"')) {
      this.#error = 'Put quotes around the attribute value.';
    }
  }

  #finishTag(i: number): number {
    const raw = !this.#state.endTag && RAW_TEXT_ELEMENTS.has(this.#state.tag);
    this.#state.mode = raw ? 'raw-text' : 'text';
    this.#state.css = 'plain';
    this.#state.jsonString = false;
    return i + 1;
  }

  /** Only the matching end tag ends the content of these elements. */
  #rawText(text: string, i: number, limit: number): number {
    const { tag } = this.#state;
    const rest = text.slice(i, limit);
    const end = tag === ENDLESS_ELEMENT ? -1 : findRawTextEnd(rest, tag, 0);
    const content = end === -1 ? rest : rest.slice(0, end);
    if (tag === 'style') this.#state.css = advanceCss(this.#state.css, content);
    if (tag === 'script') this.#state.jsonString = advanceJson(this.#state.jsonString, content);
    if (end === -1) return limit;
    this.#startTag(true);
    this.#state.tag = tag;
    this.#state.mode = 'in-tag';
    return i + end + '</'.length + tag.length;
  }

  #urlCheck(): UrlCheck | undefined {
    return urlCheckOf(this.#state.tag, this.#state.attribute);
  }

  #edit(kind: HtmlEdit['kind'], offset: number): void {
    this.#edits.push({ offset, kind, check: this.#urlCheck() ?? 'link' });
  }
}

function find(text: string, character: string, from: number, limit: number): number {
  const index = text.indexOf(character, from);
  return index >= limit ? -1 : index;
}

/** The next whitespace character or one of `ends`. */
function findEnd(text: string, ends: string, from: number, limit: number): number {
  for (let i = from; i < limit; i++) {
    const code = text.charCodeAt(i);
    if (code <= 0x20 ? isWhitespace(code) : code <= 0x3e && ends.includes(text[i] as string))
      return i;
  }
  return limit;
}

/** Whether the position after `text` is inside a JSON string. */
function advanceJson(inString: boolean, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') inString = !inString;
    else if (text[i] === '\\' && inString) i += 1;
  }
  return inString;
}
