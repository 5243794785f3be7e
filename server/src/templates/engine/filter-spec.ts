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
