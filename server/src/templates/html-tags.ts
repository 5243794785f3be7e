import type { PlaceholderSpan } from './engine/lexer.ts';

/**
 * Reads the tags of an HTML text with their offsets, in one forward pass, as a browser's tokenizer
 * does (WHATWG HTML 13.2.5). For looking at an author's text and for patching it in place; it does
 * not build a tree and repairs nothing.
 */

export interface HtmlAttribute {
  name: string;
  /** As written, entities and all. */
  value: string;
  begin: number;
  end: number;
  valueBegin: number;
}

export interface HtmlTag {
  name: string;
  kind: 'start' | 'end';
  begin: number;
  end: number;
  attributes: HtmlAttribute[];
}

export interface HtmlScan {
  tags: HtmlTag[];
  /** Content of style, script, title and the like, which holds no tags. */
  rawTexts: { tag: HtmlTag; begin: number; end: number }[];
  /** Where a tag, comment or raw text starts that the text ends in. */
  openEndAt: number | undefined;
}

const RAW_TEXT_TAGS = new Set([
  ...['script', 'style', 'title', 'textarea'],
  ...['xmp', 'iframe', 'noembed', 'noframes'],
]);
const COMMENT_END = /--!?>/g;
const NAME_END = /[\s/>]/g;

export function scanHtml(html: string): HtmlScan {
  const scan: HtmlScan = { tags: [], rawTexts: [], openEndAt: undefined };
  const rawTextEnds = new RawTextEnds(html);
  let position = 0;
  for (;;) {
    const begin = html.indexOf('<', position);
    if (begin === -1) return scan;
    const after = html.charCodeAt(begin + 1);
    if (after === 0x21 || after === 0x3f) position = afterMarkup(html, begin);
    else if (isLetter(after === 0x2f ? html.charCodeAt(begin + 2) : after)) {
      const tag = readTag(html, begin, after === 0x2f ? 'end' : 'start');
      position = tag?.end ?? -1;
      if (tag) {
        scan.tags.push(tag);
        if (tag.kind === 'start' && RAW_TEXT_TAGS.has(tag.name)) {
          const end = rawTextEnds.find(tag.name, tag.end);
          scan.rawTexts.push({ tag, begin: tag.end, end: end === -1 ? html.length : end });
          position = end;
        }
      }
    } else position = begin + 1;
    if (position === -1) {
      scan.openEndAt = begin;
      return scan;
    }
  }
}

export function attributeOf(tag: HtmlTag, name: string): HtmlAttribute | undefined {
  return tag.attributes.find((attribute) => attribute.name === name);
}

/** The text with every placeholder blotted out, so that all offsets stay true. */
export function withoutPlaceholders(
  source: string,
  spans: readonly PlaceholderSpan[],
  ink = 'x',
): string {
  const pieces: string[] = [];
  let position = 0;
  for (const { begin, end } of spans) {
    pieces.push(source.slice(position, begin), ink.repeat(end - begin));
    position = end;
  }
  pieces.push(source.slice(position));
  return pieces.join('');
}

function afterMarkup(html: string, begin: number): number {
  if (!html.startsWith('<!--', begin)) {
    const end = html.indexOf('>', begin);
    return end === -1 ? -1 : end + 1;
  }
  if (html.startsWith('>', begin + 4)) return begin + 5;
  if (html.startsWith('->', begin + 4)) return begin + 6;
  COMMENT_END.lastIndex = begin + 4;
  const end = COMMENT_END.exec(html);
  return end ? end.index + end[0].length : -1;
}

function readTag(html: string, begin: number, kind: 'start' | 'end'): HtmlTag | undefined {
  const nameBegin = kind === 'end' ? begin + 2 : begin + 1;
  NAME_END.lastIndex = nameBegin;
  const nameEnd = NAME_END.exec(html)?.index;
  if (nameEnd === undefined) return undefined;
  const attributes: HtmlAttribute[] = [];
  let position = nameEnd;
  for (;;) {
    while (isSpaceOrSlash(html.charCodeAt(position))) position += 1;
    if (position >= html.length) return undefined;
    if (html[position] === '>') break;
    const attribute = readAttribute(html, position);
    if (!attribute) return undefined;
    attributes.push(attribute);
    position = attribute.end;
  }
  const name = html.slice(nameBegin, nameEnd).toLowerCase();
  return { name, kind, begin, end: position + 1, attributes };
}

function readAttribute(html: string, begin: number): HtmlAttribute | undefined {
  let position = begin + 1;
  while (position < html.length && !/[\s/>=]/.test(html[position] as string)) position += 1;
  const name = html.slice(begin, position).toLowerCase();
  let equals = position;
  while (isSpace(html.charCodeAt(equals))) equals += 1;
  if (html[equals] !== '=') return { name, value: '', begin, end: position, valueBegin: position };
  let valueBegin = equals + 1;
  while (isSpace(html.charCodeAt(valueBegin))) valueBegin += 1;
  const quote = html[valueBegin];
  if (quote === '"' || quote === "'") {
    const close = html.indexOf(quote, valueBegin + 1);
    if (close === -1) return undefined;
    const value = html.slice(valueBegin + 1, close);
    return { name, value, begin, end: close + 1, valueBegin: valueBegin + 1 };
  }
  let end = valueBegin;
  while (end < html.length && !/[\s>]/.test(html[end] as string)) end += 1;
  return { name, value: html.slice(valueBegin, end), begin, end, valueBegin };
}

/** Remembers that a kind of end tag does not occur again, so that no text is searched twice. */
class RawTextEnds {
  readonly #html: string;
  readonly #gone = new Set<string>();

  constructor(html: string) {
    this.#html = html;
  }

  find(name: string, from: number): number {
    if (this.#gone.has(name)) return -1;
    const pattern = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
    pattern.lastIndex = from;
    const found = pattern.exec(this.#html);
    if (!found) this.#gone.add(name);
    return found ? found.index : -1;
  }
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

function isSpaceOrSlash(code: number): boolean {
  return isSpace(code) || code === 0x2f;
}
