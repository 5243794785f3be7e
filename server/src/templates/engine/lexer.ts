import { ContentLimitError, ContentSyntaxError, positionAt } from './content-errors.ts';
import { tripleBraceHint } from './liquid-hints.ts';

/**
 * Splits a field into literal text, outputs and tags in one forward pass. LiquidJS searches for
 * delimiters at every character and does not support `${…}`; a native search for the three openings is
 * about ten times as fast, which matters because inline content is parsed on every send.
 */

export type Lexeme =
  | { kind: 'text'; text: string }
  | { kind: 'output'; at: number; begin: number; end: number }
  | { kind: 'dollar'; at: number; path: string }
  | { kind: 'tag'; at: number; name: string; begin: number; end: number };

/** A placeholder takes microseconds to parse; this many take about 100 ms. */
const PLACEHOLDERS_MAX = 5_000;
const EXPRESSION_MAX_CHARS = 4_096;
const OPENING = /\\?\$\{|\{\{|\{%/g;
const TAG_NAME = /\s*(#|[A-Za-z_]\w*)/y;
const DOLLAR_PATH = /^[\p{L}_][\p{L}\p{M}\p{N}_-]*(?:\.[\p{L}\p{M}\p{N}_-]+)*$/u;
const ENDRAW = /\{%-?\s*endraw\s*-?%\}/g;
const ENDCOMMENT = /\{%-?\s*endcomment\s*-?%\}/g;

export function lexContent(source: string, field: string): Lexeme[] {
  return new Lexer(source, field).run();
}

/** A range of template syntax; everything outside these ranges is literal text. */
export interface PlaceholderSpan {
  start: number;
  end: number;
  /** Outputs a value, as opposed to a tag, a comment or an escape sequence. */
  isOutput: boolean;
}

export function placeholderSpans(source: string, field: string): PlaceholderSpan[] {
  const lexer = new Lexer(source, field);
  lexer.run();
  return lexer.spans;
}

/** The text with every placeholder overwritten, so that HTML can be scanned and all offsets stay valid. */
export function maskPlaceholders(source: string, spans: readonly PlaceholderSpan[]): string {
  const chunks: string[] = [];
  let position = 0;
  for (const { start, end } of spans) {
    chunks.push(source.slice(position, start), 'x'.repeat(end - start));
    position = end;
  }
  chunks.push(source.slice(position));
  return chunks.join('');
}

class Lexer {
  readonly #source: string;
  readonly #field: string;
  readonly #lexemes: Lexeme[] = [];
  #text = '';
  #trimNext = false;
  #placeholders = 0;
  readonly spans: PlaceholderSpan[] = [];

  constructor(source: string, field: string) {
    this.#source = source;
    this.#field = field;
  }

  run(): Lexeme[] {
    const source = this.#source;
    let position = 0;
    for (;;) {
      OPENING.lastIndex = position;
      const opening = OPENING.exec(source);
      if (!opening) break;
      const at = opening.index;
      this.#addText(source.slice(position, at));
      if (opening[0] === '\\${') {
        this.#addText('${');
        position = at + 3;
        this.spans.push({ start: at, end: position, isOutput: false });
        continue;
      }
      if (++this.#placeholders > PLACEHOLDERS_MAX) {
        throw new ContentLimitError(
          this.#field,
          `There are more than ${PLACEHOLDERS_MAX} placeholders and tags.`,
        );
      }
      const span = { start: at, end: at, isOutput: opening[0] !== '{%' };
      this.spans.push(span);
      if (opening[0] === '${') position = this.#dollar(at);
      else if (opening[0] === '{{') position = this.#output(at);
      else position = this.#tag(at);
      span.end = position;
    }
    this.#addText(source.slice(position));
    this.#flush();
    return this.#lexemes;
  }

  #addText(text: string): void {
    if (this.#trimNext && text !== '') {
      text = text.trimStart();
      if (text === '') return;
    }
    if (text !== '') this.#trimNext = false;
    this.#text += text;
  }

  #flush(): void {
    if (this.#text !== '') this.#lexemes.push({ kind: 'text', text: this.#text });
    this.#text = '';
  }

  #dollar(at: number): number {
    const source = this.#source;
    const close = source.indexOf('}', at);
    const inside = source.slice(at + 2, close === -1 ? at + 2 : close);
    if (close === -1 || inside.includes('\n')) {
      this.#fail(at, `\`\${\` is not closed by \`}\`. To output it literally, write \`\\\${\`.`);
    }
    const path = inside.trim();
    if (!DOLLAR_PATH.test(path)) this.#fail(at, dollarError(path));
    this.#flush();
    this.#trimNext = false;
    this.#lexemes.push({ kind: 'dollar', at, path });
    return close + 1;
  }

  #output(at: number): number {
    const source = this.#source;
    if (source[at + 2] === '{') {
      const close = source.indexOf('}}}', at);
      this.#fail(at, tripleBraceHint(source.slice(at + 3, close === -1 ? at + 3 : close)));
    }
    const close = this.#findClose(at, '}}', 'output `{{`');
    const { begin, end } = this.#delimited(at, close);
    if (begin === end) this.#fail(at, 'The placeholder is empty.');
    this.#lexemes.push({ kind: 'output', at, begin, end });
    return close + 2;
  }

  #tag(at: number): number {
    const close = this.#findClose(at, '%}', 'tag `{%`');
    const { begin, end } = this.#delimited(at, close);
    TAG_NAME.lastIndex = begin;
    const name = TAG_NAME.exec(this.#source)?.[1];
    if (name === undefined || TAG_NAME.lastIndex > end)
      this.#fail(at, 'A tag must start with its name, as in `{% if paid %}`.');
    if (name === '#') return close + 2;
    if (name === 'raw') return this.#raw(at, close + 2);
    if (name === 'comment') return this.#comment(at, close + 2);
    this.#lexemes.push({ kind: 'tag', at, name, begin: TAG_NAME.lastIndex, end });
    return close + 2;
  }

  #raw(at: number, from: number): number {
    ENDRAW.lastIndex = from;
    const end = ENDRAW.exec(this.#source);
    if (!end) this.#fail(at, '`{% raw %}` is not closed by `{% endraw %}`.');
    this.#trimNext = false;
    this.#addText(this.#source.slice(from, end.index));
    return this.#endVerbatim(end);
  }

  #comment(at: number, from: number): number {
    ENDCOMMENT.lastIndex = from;
    const end = ENDCOMMENT.exec(this.#source);
    if (!end) this.#fail(at, '`{% comment %}` is not closed by `{% endcomment %}`.');
    return this.#endVerbatim(end);
  }

  #endVerbatim(end: RegExpExecArray): number {
    this.#trimNext = end[0].endsWith('-%}');
    return end.index + end[0].length;
  }

  /** The range between the delimiters without dashes and whitespace; applies whitespace control. */
  #delimited(at: number, close: number): { begin: number; end: number } {
    const source = this.#source;
    let begin = at + 2;
    let end = close;
    if (source[begin] === '-') {
      begin += 1;
      this.#text = this.#text.trimEnd();
    }
    this.#flush();
    this.#trimNext = end > begin && source[end - 1] === '-';
    if (this.#trimNext) end -= 1;
    while (begin < end && isBlank(source.charCodeAt(begin))) begin += 1;
    while (end > begin && isBlank(source.charCodeAt(end - 1))) end -= 1;
    return { begin, end };
  }

  /** Delimiters inside quotes do not count, as in `{{ "}}" }}`. */
  #findClose(at: number, delimiter: string, what: string): number {
    const source = this.#source;
    let position = at + 2;
    const last = Math.min(source.length, at + EXPRESSION_MAX_CHARS);
    while (position < last) {
      const character = source[position];
      if (character === '"' || character === "'") {
        position = afterString(source, position, last);
      } else if (character === delimiter[0] && source[position + 1] === delimiter[1]) {
        return position;
      } else position += 1;
    }
    if (last < source.length) {
      throw new ContentLimitError(
        this.#field,
        `The ${what} on line ${positionAt(source, at).line} is longer than ${EXPRESSION_MAX_CHARS} characters or not closed.`,
      );
    }
    this.#fail(at, `The ${what} is not closed by \`${delimiter}\`.`);
  }

  #fail(at: number, detail: string): never {
    throw new ContentSyntaxError(this.#field, { ...positionAt(this.#source, at), detail });
  }
}

/** The offset after a quoted string, in which a backslash escapes the next character. */
function afterString(source: string, begin: number, last: number): number {
  const quote = source[begin];
  for (let position = begin + 1; position < last; position++) {
    if (source[position] === '\\') position += 1;
    else if (source[position] === quote) return position + 1;
  }
  return last;
}

function dollarError(path: string): string {
  if (path === '') return `\`\${}\` does not name a variable.`;
  const shown = path.length > 40 ? `${path.slice(0, 40)}…` : path;
  if (path.includes('|')) {
    return `\`\${…}\` does not support filters. Write \`{{ ${shown} }}\`.`;
  }
  if (path.includes('{')) return 'Placeholders cannot be nested.';
  return `\`${shown}\` is not a name or dotted path. To output it literally, write \`\\\${\`.`;
}

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 160;
}
