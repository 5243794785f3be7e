import type { Spot, UrlCheck } from './content-nodes.ts';
import { advanceCss } from './css-context.ts';
import { advanceJson, endTagOf, find, findEnd, isLetter, isSpace } from './html-scanning.ts';
import { seamAfter, spotIn } from './html-spots.ts';
import { type HtmlState, joinedState, type Quote, stateAtStart } from './html-state.ts';
import { advanceUrl, urlCheckOf } from './url-attributes.ts';

/**
 * Follows the author's HTML as a browser's tokenizer would (WHATWG HTML 13.2.5), so that at each
 * placeholder it is known what a value may look like there. Comes in: literal text, piece by piece.
 * Leaves: the spot of the next output, or a sentence why none can stand there. Linear in the text.
 */

/** A change to the literal text at an offset: the borders of a URL attribute, or an added quote. */
export interface Cut {
  offset: number;
  kind: 'url-open' | 'url-close' | 'quote';
  check: UrlCheck;
}

const RAW_TEXT_TAGS = new Set([
  ...['script', 'style', 'title', 'textarea'],
  ...['xmp', 'iframe', 'noembed', 'noframes', 'plaintext'],
]);
const CONDITION = /\[if[^\]<>]*\]>(<!-->|-->)?/iy;
const COMMENT_END = /--!?>/g;
const TAG_NAME_END = '/>';
const ATTRIBUTE_NAME_END = '/>=';
const BARE_VALUE_END = '>';
const NAME_MAX_CHARS = 64;

export class HtmlContext {
  #at: HtmlState = stateAtStart();
  #fault: string | undefined;
  #cuts: Cut[] = [];
  #openedAt = -1;

  clone(): HtmlContext {
    const copy = new HtmlContext();
    copy.become(this);
    return copy;
  }

  /** Goes to where another context is. */
  become(other: HtmlContext): void {
    this.#at = { ...other.#at };
  }

  /** Joins the end of another branch to this one. False when the same text cannot follow both. */
  join(other: HtmlContext): boolean {
    const joined = joinedState(this.#at, other.#at);
    if (joined) this.#at = joined;
    return joined !== undefined;
  }

  /** Markup can stand here: partials, captured pieces, a layout's content. */
  get inText(): boolean {
    return this.#at.mode === 'text' && this.#at.seam === undefined;
  }

  /** Why nothing that may turn out empty can follow the text so far. */
  get seam(): string | undefined {
    return this.#at.seam;
  }

  /** Why the text so far cannot be followed at all. */
  get fault(): string | undefined {
    return this.#fault;
  }

  get inComment(): boolean {
    return this.#at.mode === 'comment';
  }

  get inConditionalComment(): boolean {
    return this.#at.conditional;
  }

  advance(text: string): Cut[] {
    this.#cuts = [];
    this.#openedAt = -1;
    this.#at.seam = undefined;
    if (this.#at.looseName && !/^[\s/>]/.test(text)) {
      this.#fault = 'An attribute name is put together from pieces. Put a space between them.';
    }
    this.#at.looseName = false;
    let i = 0;
    while (i < text.length) {
      const conditional = this.#at.conditional;
      const end = conditional ? text.indexOf('-->', i) : -1;
      const limit = end === -1 ? text.length : end;
      while (i < limit && this.#at.conditional === conditional) i = this.#step(text, i, limit);
      if (end !== -1 && i >= end) {
        if (this.#at.urlOpen) this.#cut('url-close', end);
        this.#at.conditional = false;
        this.#at.mode = 'text';
        this.#at.urlOpen = false;
        i = end + 3;
      }
    }
    if (this.#at.mode === 'value' && this.#openedAt !== -1 && this.#urlCheck()) {
      this.#cut('url-open', this.#openedAt);
      this.#at.urlOpen = true;
    }
    this.#at.seam = seamAfter(this.#at, text);
    return this.#cuts;
  }

  /** The spot of an output here, or why there can be none. */
  spot(): Spot | { problem: string } {
    return spotIn(this.#at);
  }

  /** True when a value here has no quotes around it and gets ours. Says so once per attribute. */
  addQuote(): { added: boolean; url: boolean } {
    if (this.#at.mode !== 'before-value') return { added: false, url: false };
    this.#openValue('+', -1);
    const url = this.#urlCheck() !== undefined;
    this.#at.urlOpen = url;
    return { added: true, url };
  }

  /** One construct further; never past `limit`. */
  #step(text: string, i: number, limit: number): number {
    switch (this.#at.mode) {
      case 'text': {
        const open = find(text, '<', i, limit);
        if (open === -1) return limit;
        this.#at.mode = 'tag-open';
        return open + 1;
      }
      case 'tag-open':
        return this.#tagOpen(text, i);
      case 'end-tag-open':
        this.#at.mode = isLetter(text.charCodeAt(i))
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
        this.#at.mode = 'text';
        return end.index + end[0].length;
      }
      case 'bogus': {
        const end = find(text, '>', i, limit);
        if (end === -1) return limit;
        this.#at.mode = 'text';
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
    if (isLetter(text.charCodeAt(i))) {
      this.#at.mode = 'tag-name';
      this.#startTag(false);
      return i;
    }
    if (character === '/') this.#at.mode = 'end-tag-open';
    else if (character === '!') this.#at.mode = 'markup';
    else if (character === '?') this.#at.mode = 'bogus';
    else {
      this.#at.mode = 'text';
      return i;
    }
    return i + 1;
  }

  #startTag(endTag: boolean): void {
    this.#at.endTag = endTag;
    this.#at.tag = '';
    this.#at.attribute = '';
    this.#at.scriptType = '';
  }

  /** After `<!`: a comment, one of Outlook's conditions, or something without meaning in mail. */
  #markup(text: string, i: number, limit: number): number {
    if (!text.startsWith('--', i)) {
      this.#at.mode = 'bogus';
      return i;
    }
    const start = i + 2;
    CONDITION.lastIndex = start;
    const condition = this.#at.conditional ? null : CONDITION.exec(text);
    if (condition) {
      this.#at.mode = 'text';
      this.#at.conditional = condition[1] === undefined;
      return start + condition[0].length;
    }
    // `<!-->` and `<!--->` are whole comments (WHATWG HTML 13.2.5.43-44).
    const short = text.startsWith('>', start) ? 1 : text.startsWith('->', start) ? 2 : 0;
    this.#at.mode = short > 0 ? 'text' : 'comment';
    return Math.min(start + short, limit);
  }

  #insideTag(text: string, i: number, limit: number): number {
    const character = text[i] ?? '';
    switch (this.#at.mode) {
      case 'tag-name': {
        const end = findEnd(text, TAG_NAME_END, i, limit);
        this.#at.tag = (this.#at.tag + text.slice(i, end)).toLowerCase().slice(0, NAME_MAX_CHARS);
        if (end < limit) this.#at.mode = 'in-tag';
        return end;
      }
      case 'in-tag':
      case 'after-attribute-name':
        if (character === '>') return this.#finishTag(i);
        if (character === '=' && this.#at.mode === 'after-attribute-name') {
          this.#at.mode = 'before-value';
          return i + 1;
        }
        if (isSpace(character)) return i + 1;
        if (character === '/') {
          this.#at.mode = 'in-tag';
          return i + 1;
        }
        this.#at.mode = 'attribute-name';
        this.#at.attribute = character.toLowerCase();
        return i + 1;
      case 'attribute-name': {
        const end = findEnd(text, ATTRIBUTE_NAME_END, i, limit);
        const name = this.#at.attribute + text.slice(i, end);
        this.#at.attribute = name.toLowerCase().slice(0, NAME_MAX_CHARS);
        if (end >= limit) return limit;
        if (text[end] === '=') this.#at.mode = 'before-value';
        else this.#at.mode = 'after-attribute-name';
        return text[end] === '=' ? end + 1 : end;
      }
      case 'before-value':
        if (isSpace(character)) return i + 1;
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
    this.#at.mode = 'value';
    this.#at.quote = quote;
    this.#at.css = 'plain';
    this.#at.urlPart = 'path';
    this.#openedAt = at;
    if (this.#at.tag === 'script' && this.#at.attribute === 'type') this.#at.scriptType = '';
  }

  #value(text: string, i: number, limit: number): number {
    const quoted = this.#at.quote === '"' || this.#at.quote === "'";
    const found = quoted
      ? find(text, this.#at.quote, i, limit)
      : findEnd(text, BARE_VALUE_END, i, limit);
    const end = found === -1 ? limit : found;
    // An attribute without placeholders in it is of no interest, and most are so.
    const whole = end < limit && this.#openedAt === i;
    if (!whole || this.#at.tag === 'script') this.#readValue(text.slice(i, end));
    if (end >= limit) return limit;
    if (this.#at.urlOpen) this.#cut('url-close', end);
    if (this.#at.quote === '+') this.#cut('quote', end);
    this.#at.urlOpen = false;
    this.#openedAt = -1;
    this.#at.mode = 'in-tag';
    return quoted ? end + 1 : end;
  }

  #readValue(piece: string): void {
    this.#at.urlPart = advanceUrl(this.#at.urlPart, piece);
    if (this.#at.attribute === 'style') this.#at.css = advanceCss(this.#at.css, piece);
    if (this.#at.tag === 'script' && this.#at.attribute === 'type') {
      this.#at.scriptType = (this.#at.scriptType + piece).toLowerCase().slice(0, NAME_MAX_CHARS);
    }
    if (this.#at.quote === '+' && piece.includes('"')) {
      this.#fault = 'Put quotes around the attribute value.';
    }
  }

  #finishTag(i: number): number {
    const raw = !this.#at.endTag && RAW_TEXT_TAGS.has(this.#at.tag);
    this.#at.mode = raw ? 'raw-text' : 'text';
    this.#at.css = 'plain';
    this.#at.jsonString = false;
    return i + 1;
  }

  /** Nothing but its own end tag ends the content of these elements. */
  #rawText(text: string, i: number, limit: number): number {
    const piece = text.slice(i, limit);
    const found = endTagOf(this.#at.tag).exec(piece);
    const content = found ? piece.slice(0, found.index) : piece;
    if (this.#at.tag === 'style') this.#at.css = advanceCss(this.#at.css, content);
    if (this.#at.tag === 'script') this.#at.jsonString = advanceJson(this.#at.jsonString, content);
    if (!found) return limit;
    const tag = this.#at.tag;
    this.#startTag(true);
    this.#at.tag = tag;
    this.#at.mode = 'in-tag';
    return i + found.index + found[0].length;
  }

  #urlCheck(): UrlCheck | undefined {
    return urlCheckOf(this.#at.tag, this.#at.attribute);
  }

  #cut(kind: Cut['kind'], offset: number): void {
    this.#cuts.push({ offset, kind, check: this.#urlCheck() ?? 'link' });
  }
}
