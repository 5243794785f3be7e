import { RefusedError } from '../../lib/refused-error.ts';

/** A position in a field. Both numbers start at 1; columns count UTF-16 code units. */
export interface Position {
  line: number;
  column: number;
}

export interface SyntaxIssue extends Position {
  detail: string;
}

/** The source has syntax errors, so nothing can be rendered from it. */
export class ContentSyntaxError extends RefusedError {
  readonly field: string;
  /** At least one, in source order. */
  readonly issues: readonly SyntaxIssue[];

  constructor(field: string, first: SyntaxIssue, others: readonly SyntaxIssue[] = []) {
    const issues = [first, ...others];
    const count = others.length === 1 ? 'is 1 more error' : `are ${others.length} more errors`;
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

  /** The message of the first issue. */
  get detail(): string {
    return this.issues[0]?.detail ?? '';
  }
}

/** A limit on parsing or rendering was reached; continuing could exhaust the server. */
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

/** Converts a field name (`from.name`) to a JSON Pointer (`/from/name`). */
export function fieldPointer(field: string): string {
  return `/${field.split('.').join('/')}`;
}

/** Line and column of an offset. Linear, so use LineIndex for more than one lookup. */
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

/** An index of line starts, for looking up many positions in one text. */
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
