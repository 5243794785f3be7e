import type { RenderState } from './render-state.ts';

/** What a filter is handed besides the value: its arguments, already evaluated. */
export interface FilterCall {
  args: readonly unknown[];
  named: ReadonlyMap<string, unknown>;
  state: RenderState;
}

export interface FilterSpec {
  apply(value: unknown, call: FilterCall): unknown;
  argsMin: number;
  argsMax: number;
  /** The filter understands finished HTML; all others are handed its text. */
  takesHtml?: boolean;
  /** Work of one call, apart from the length of what it reads and makes. */
  cost?: number;
  /** What the value must be, for the guess of a variable's type. */
  expects?: 'number' | 'date' | 'list' | 'text';
}

/** A value that a filter or an output cannot work with; told with the path and place of its use. */
export class ValueError extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'ValueProblem';
  }
}

/** Finished HTML: written as it is in HTML text. Made only here, never out of a caller's JSON. */
export class SafeHtml {
  readonly html: string;

  constructor(html: string) {
    this.html = html;
  }

  toString(): string {
    return this.html;
  }
}
