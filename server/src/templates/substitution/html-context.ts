import type { Spot, UrlCheck } from './content-nodes.ts';
import { advanceCss, type CssMode } from './css-context.ts';
import { advanceJson, endTagOf, find, findEnd, isLetter, isSpace } from './html-scanning.ts';
import { urlCheckOf } from './url-attributes.ts';

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

type Mode =
  | 'text'
  | 'tag-open'
  | 'end-tag-open'
  | 'markup'
  | 'comment'
  | 'bogus'
  | 'tag-name'
  | 'in-tag'
  | 'attribute-name'
  | 'after-attribute-name'
  | 'before-value'
  | 'value'
  | 'raw-text';

/** `+` is a quote that we add around a value which the author left bare. */
type Quote = '"' | "'" | '' | '+';

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
  #mode: Mode = 'text';
  #endTag = false;
  #tag = '';
  #attribute = '';
  #quote: Quote = '';
  #css: CssMode = 'plain';
  #jsonString = false;
  /** Inside `<!--[if mso]>`: Outlook reads HTML here, everyone else a comment. */
  #conditional = false;
  #scriptType = '';
  /** The open URL attribute was begun in an earlier piece of text. */
  #urlOpen = false;
  /** Branches ended in different attribute names; the next text must begin outside of a name. */
  #looseName = false;
  #seam: string | undefined;
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
    this.#mode = other.#mode;
    this.#endTag = other.#endTag;
    this.#tag = other.#tag;
    this.#attribute = other.#attribute;
    this.#quote = other.#quote;
    this.#css = other.#css;
    this.#jsonString = other.#jsonString;
    this.#conditional = other.#conditional;
    this.#scriptType = other.#scriptType;
    this.#urlOpen = other.#urlOpen;
    this.#looseName = other.#looseName;
    this.#seam = other.#seam;
  }

  /** Joins the end of another branch to this one. False when the same text cannot follow both. */
  join(other: HtmlContext): boolean {
    if (this.#fingerprint() !== other.#fingerprint()) return false;
    if (this.#mode !== other.#mode || this.#mode === 'attribute-name') {
      this.#mode = 'in-tag';
      this.#looseName = true;
    }
    this.#looseName ||= other.#looseName;
    return true;
  }

  /** Markup can stand here: partials, captured pieces, a layout's content. */
  get inText(): boolean {
    return this.#mode === 'text' && this.#seam === undefined;
  }

  /** Why nothing that may turn out empty can follow the text so far. */
  get seam(): string | undefined {
    return this.#seam;
  }

  /** Why the text so far cannot be followed at all. */
  get fault(): string | undefined {
    return this.#fault;
  }

  get inComment(): boolean {
    return this.#mode === 'comment';
  }

  get inConditionalComment(): boolean {
    return this.#conditional;
  }

  advance(text: string): Cut[] {
    this.#cuts = [];
    this.#openedAt = -1;
    this.#seam = undefined;
    if (this.#looseName && !/^[\s/>]/.test(text)) {
      this.#fault = 'An attribute name is put together from pieces. Put a space between them.';
    }
    this.#looseName = false;
    let i = 0;
    while (i < text.length) {
      const conditional = this.#conditional;
      const end = conditional ? text.indexOf('-->', i) : -1;
      const limit = end === -1 ? text.length : end;
      while (i < limit && this.#conditional === conditional) i = this.#step(text, i, limit);
      if (end !== -1 && i >= end) {
        if (this.#urlOpen) this.#cut('url-close', end);
        this.#conditional = false;
        this.#mode = 'text';
        this.#urlOpen = false;
        i = end + 3;
      }
    }
    if (this.#mode === 'value' && this.#openedAt !== -1 && this.#urlCheck()) {
      this.#cut('url-open', this.#openedAt);
      this.#urlOpen = true;
    }
    this.#seam = this.#seamAfter(text);
    return this.#cuts;
  }

  /** The spot of an output here, or why there can be none. */
  spot(): Spot | { problem: string } {
    switch (this.#mode) {
      case 'text':
        return 'html-text';
      case 'comment':
        return 'comment';
      case 'value':
        return this.#attributeSpot();
      case 'raw-text':
        return this.#rawTextSpot();
      case 'before-value':
        return 'attribute';
      case 'bogus':
      case 'markup':
        return { problem: 'A value cannot stand inside `<!…>` or `<?…>`.' };
      case 'tag-open':
      case 'end-tag-open':
      case 'tag-name':
        return { problem: 'A value cannot be part of a tag name.' };
      default:
        return {
          problem:
            'Inside a tag a value can stand only in an attribute, as in `title="{{ name }}"`. `| raw` allows it at your own risk.',
        };
    }
  }

  /** True when a value here has no quotes around it and gets ours. Says so once per attribute. */
  addQuote(): { added: boolean; url: boolean } {
    if (this.#mode !== 'before-value') return { added: false, url: false };
    this.#openValue('+', -1);
    const url = this.#urlCheck() !== undefined;
    this.#urlOpen = url;
    return { added: true, url };
  }

  #fingerprint(): string {
    const outer = this.#conditional ? 'conditional ' : '';
    switch (this.#mode) {
      case 'value':
        return `${outer}value ${this.#tag} ${this.#attribute} ${this.#quote} ${this.#css} ${this.#urlOpen}`;
      case 'raw-text':
        return `${outer}raw ${this.#tag} ${this.#css} ${this.#jsonString} ${this.#scriptType}`;
      case 'in-tag':
      case 'attribute-name':
      case 'after-attribute-name':
        return `${outer}in-tag ${this.#endTag} ${this.#tag} ${this.#scriptType}`;
      case 'before-value':
        return `${outer}before ${this.#tag} ${this.#attribute}`;
      case 'tag-name':
        return `${outer}tag-name ${this.#endTag} ${this.#tag}`;
      default:
        return outer + this.#mode;
    }
  }

  /** One construct further; never past `limit`. */
  #step(text: string, i: number, limit: number): number {
    switch (this.#mode) {
      case 'text': {
        const open = find(text, '<', i, limit);
        if (open === -1) return limit;
        this.#mode = 'tag-open';
        return open + 1;
      }
      case 'tag-open':
        return this.#tagOpen(text, i);
      case 'end-tag-open':
        this.#mode = isLetter(text.charCodeAt(i)) ? 'tag-name' : text[i] === '>' ? 'text' : 'bogus';
        this.#startTag(true);
        return text[i] === '>' ? i + 1 : i;
      case 'markup':
        return this.#markup(text, i, limit);
      case 'comment': {
        COMMENT_END.lastIndex = i;
        const end = COMMENT_END.exec(text);
        if (!end || end.index >= limit) return limit;
        this.#mode = 'text';
        return end.index + end[0].length;
      }
      case 'bogus': {
        const end = find(text, '>', i, limit);
        if (end === -1) return limit;
        this.#mode = 'text';
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
      this.#mode = 'tag-name';
      this.#startTag(false);
      return i;
    }
    if (character === '/') this.#mode = 'end-tag-open';
    else if (character === '!') this.#mode = 'markup';
    else if (character === '?') this.#mode = 'bogus';
    else {
      this.#mode = 'text';
      return i;
    }
    return i + 1;
  }

  #startTag(endTag: boolean): void {
    this.#endTag = endTag;
    this.#tag = '';
    this.#attribute = '';
    this.#scriptType = '';
  }

  /** After `<!`: a comment, one of Outlook's conditions, or something without meaning in mail. */
  #markup(text: string, i: number, limit: number): number {
    if (!text.startsWith('--', i)) {
      this.#mode = 'bogus';
      return i;
    }
    const start = i + 2;
    CONDITION.lastIndex = start;
    const condition = this.#conditional ? null : CONDITION.exec(text);
    if (condition) {
      this.#mode = 'text';
      this.#conditional = condition[1] === undefined;
      return start + condition[0].length;
    }
    // `<!-->` and `<!--->` are whole comments (WHATWG HTML 13.2.5.43-44).
    const short = text.startsWith('>', start) ? 1 : text.startsWith('->', start) ? 2 : 0;
    this.#mode = short > 0 ? 'text' : 'comment';
    return Math.min(start + short, limit);
  }

  #insideTag(text: string, i: number, limit: number): number {
    const character = text[i] ?? '';
    switch (this.#mode) {
      case 'tag-name': {
        const end = findEnd(text, TAG_NAME_END, i, limit);
        this.#tag = (this.#tag + text.slice(i, end)).toLowerCase().slice(0, NAME_MAX_CHARS);
        if (end < limit) this.#mode = 'in-tag';
        return end;
      }
      case 'in-tag':
      case 'after-attribute-name':
        if (character === '>') return this.#finishTag(i);
        if (character === '=' && this.#mode === 'after-attribute-name') {
          this.#mode = 'before-value';
          return i + 1;
        }
        if (isSpace(character)) return i + 1;
        if (character === '/') {
          this.#mode = 'in-tag';
          return i + 1;
        }
        this.#mode = 'attribute-name';
        this.#attribute = character.toLowerCase();
        return i + 1;
      case 'attribute-name': {
        const end = findEnd(text, ATTRIBUTE_NAME_END, i, limit);
        const name = this.#attribute + text.slice(i, end);
        this.#attribute = name.toLowerCase().slice(0, NAME_MAX_CHARS);
        if (end >= limit) return limit;
        if (text[end] === '=') this.#mode = 'before-value';
        else this.#mode = 'after-attribute-name';
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
    this.#mode = 'value';
    this.#quote = quote;
    this.#css = 'plain';
    this.#openedAt = at;
    if (this.#tag === 'script' && this.#attribute === 'type') this.#scriptType = '';
  }

  #value(text: string, i: number, limit: number): number {
    const quoted = this.#quote === '"' || this.#quote === "'";
    const found = quoted
      ? find(text, this.#quote, i, limit)
      : findEnd(text, BARE_VALUE_END, i, limit);
    const end = found === -1 ? limit : found;
    // An attribute without placeholders in it is of no interest, and most are so.
    const whole = end < limit && this.#openedAt === i;
    if (!whole || this.#tag === 'script') this.#readValue(text.slice(i, end));
    if (end >= limit) return limit;
    if (this.#urlOpen) this.#cut('url-close', end);
    if (this.#quote === '+') this.#cut('quote', end);
    this.#urlOpen = false;
    this.#openedAt = -1;
    this.#mode = 'in-tag';
    return quoted ? end + 1 : end;
  }

  #readValue(piece: string): void {
    if (this.#attribute === 'style') this.#css = advanceCss(this.#css, piece);
    if (this.#tag === 'script' && this.#attribute === 'type') {
      this.#scriptType = (this.#scriptType + piece).toLowerCase().slice(0, NAME_MAX_CHARS);
    }
    if (this.#quote === '+' && piece.includes('"')) {
      this.#fault = 'Put quotes around the attribute value.';
    }
  }

  #finishTag(i: number): number {
    const raw = !this.#endTag && RAW_TEXT_TAGS.has(this.#tag);
    this.#mode = raw ? 'raw-text' : 'text';
    this.#css = 'plain';
    this.#jsonString = false;
    return i + 1;
  }

  /** Nothing but its own end tag ends the content of these elements. */
  #rawText(text: string, i: number, limit: number): number {
    const piece = text.slice(i, limit);
    const found = endTagOf(this.#tag).exec(piece);
    const content = found ? piece.slice(0, found.index) : piece;
    if (this.#tag === 'style') this.#css = advanceCss(this.#css, content);
    if (this.#tag === 'script') this.#jsonString = advanceJson(this.#jsonString, content);
    if (!found) return limit;
    const tag = this.#tag;
    this.#startTag(true);
    this.#tag = tag;
    this.#mode = 'in-tag';
    return i + found.index + found[0].length;
  }

  #attributeSpot(): Spot | { problem: string } {
    if (this.#attribute.startsWith('on') || this.#attribute === 'srcdoc') {
      return {
        problem: `A value cannot stand in the attribute \`${this.#attribute}\`: it is a program.`,
      };
    }
    if (this.#attribute === 'style') {
      if (this.#quote === '') return { problem: 'Put quotes around the `style` attribute.' };
      if (this.#css.startsWith('url')) return 'css-url-in-attribute';
      return this.#css === 'plain' || this.#css === 'comment' ? 'css' : 'css-string';
    }
    return this.#quote === '' ? 'bare-attribute' : 'attribute';
  }

  #rawTextSpot(): Spot | { problem: string } {
    if (this.#tag === 'title' || this.#tag === 'textarea') return 'html-text';
    if (this.#tag === 'style') {
      if (this.#css.startsWith('url')) return 'css-url';
      return this.#css === 'plain' || this.#css === 'comment' ? 'css' : 'css-string';
    }
    if (
      this.#tag === 'script' &&
      /^application\/(?:[\w.-]+\+)?json$/.test(this.#scriptType.trim())
    ) {
      return this.#jsonString ? 'json-string' : 'json-value';
    }
    return {
      problem: `A value cannot stand inside \`<${this.#tag}>\`: it could become a program.`,
    };
  }

  #urlCheck(): UrlCheck | undefined {
    return urlCheckOf(this.#tag, this.#attribute);
  }

  #cut(kind: Cut['kind'], offset: number): void {
    this.#cuts.push({ offset, kind, check: this.#urlCheck() ?? 'link' });
  }

  #seamAfter(text: string): string | undefined {
    if ((this.#conditional || this.#mode === 'comment') && text.endsWith('-')) {
      return 'Put a space after the dash: together with what follows it could end the comment.';
    }
    if (this.#mode !== 'raw-text' && !(this.#mode === 'value' && this.#attribute === 'style')) {
      return undefined;
    }
    if (text.endsWith('\\')) return 'A backslash cannot stand before a placeholder here.';
    if (this.#mode === 'raw-text' && /<\/?[a-z]*$/i.test(text.slice(-16))) {
      return `An end tag of \`<${this.#tag}>\` is put together from pieces.`;
    }
    return undefined;
  }
}
