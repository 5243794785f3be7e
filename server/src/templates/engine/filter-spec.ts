import type { RenderState } from './render-state.ts';

/** What a filter receives besides the value: its evaluated arguments and the render state. */
export interface FilterCall {
  args: readonly unknown[];
  named: ReadonlyMap<string, unknown>;
  state: RenderState;
}

export interface FilterSpec {
  apply(value: unknown, call: FilterCall): unknown;
  argsMin: number;
  argsMax: number;
  /** The filter accepts SafeHtml; all others receive its text. */
  takesHtml?: boolean;
  /** Cost of one call, apart from the size of its input and output. */
  cost?: number;
  /** The expected type of the value, used to infer variable types. */
  expects?: 'number' | 'date' | 'list' | 'text';
}

/** A value that a filter or output cannot use; reported with its path and position. */
export class ValueError extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'ValueError';
  }
}

/** Trusted HTML, written unescaped in HTML text. Only the engine creates it, never a caller's JSON. */
export class SafeHtml {
  readonly html: string;

  constructor(html: string) {
    this.html = html;
  }

  toString(): string {
    return this.html;
  }
}
