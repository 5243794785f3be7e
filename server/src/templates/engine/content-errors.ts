import { RefusedError } from '../../lib/refused-error.ts';

/** Where in a field something is: both numbers count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

export interface SyntaxIssue extends Position {
  detail: string;
}

/** The author's text is not a template: nothing can be rendered from it. */
export class ContentSyntaxError extends RefusedError {
  readonly field: string;
  /** At least one, in the order of the text. */
  readonly issues: readonly SyntaxIssue[];

  constructor(field: string, first: SyntaxIssue, others: readonly SyntaxIssue[] = []) {
    const issues = [first, ...others];
    const count = others.length === 1 ? 'is 1 more mistake' : `are ${others.length} more mistakes`;
    const more = others.length > 0 ? ` There ${count}.` : '';
    super(
      'template_syntax',
      `${field}, line ${first.line}, column ${first.column}: ${first.detail}${more}`,
      {
        errors: issues.map(({ detail, line, column }) => ({
          pointer: fieldPointer(field),
          code: 'template_syntax',
          detail,
          line,
          column,
        })),
      },
    );
    this.name = 'ContentSyntaxError';
    this.field = field;
    this.issues = issues;
  }

  /** Of the first one. */
  get detail(): string {
    return this.issues[0]?.detail ?? '';
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

/** Line and column of an offset. Linear, so only for an error that ends a parse. */
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
export class LineIndex {
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
