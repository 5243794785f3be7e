import { RefusedError } from '../../base/refused-error.ts';

/** Where in a field something is: both numbers count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** The author's text is not a template: nothing can be rendered from it. */
export class ContentSyntaxError extends RefusedError {
  readonly field: string;
  readonly line: number;
  readonly column: number;
  readonly detail: string;

  constructor(field: string, position: Position, detail: string) {
    super(
      'template_syntax',
      `${field}, line ${position.line}, column ${position.column}: ${detail}`,
      {
        errors: [{ pointer: fieldPointer(field), code: 'template_syntax', detail, ...position }],
      },
    );
    this.name = 'ContentSyntaxError';
    this.field = field;
    this.line = position.line;
    this.column = position.column;
    this.detail = detail;
  }
}

/** A bound on parsing or rendering was reached; going on could take the server with it. */
export class ContentLimitError extends RefusedError {
  readonly field: string;
  readonly detail: string;

  constructor(field: string, detail: string) {
    super('template_limit', `${field}: ${detail}`, {
      errors: [{ pointer: fieldPointer(field), code: 'template_limit', detail }],
    });
    this.name = 'ContentLimitError';
    this.field = field;
    this.detail = detail;
  }
}

/** `from.name` is the field's name in a sentence, `/from/name` in a problem. */
export function fieldPointer(field: string): string {
  return `/${field.split('.').join('/')}`;
}

/** Line and column of an offset. Linear, so only for the one error that ends a parse. */
export function positionAt(source: string, offset: number): Position {
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const newline = source.indexOf('\n', lineStart);
    if (newline === -1 || newline >= offset) return { line, column: offset - lineStart + 1 };
    line += 1;
    lineStart = newline + 1;
  }
}

/** The lines of a text, found once: for whoever asks for many places in it. */
export class Lines {
  readonly #starts = [0];

  constructor(source: string) {
    for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) {
      this.#starts.push(at + 1);
    }
  }

  positionAt(offset: number): Position {
    let low = 0;
    for (let high = this.#starts.length; high - low > 1; ) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] as number) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 };
  }
}
