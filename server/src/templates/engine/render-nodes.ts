import { ContentLimitError } from './content-errors.ts';
import type { ContentNode, Expr, ForNode, OutputNode, RenderNode } from './content-nodes.ts';
import { DANGEROUS_URL, escapeForContext, isDangerousAttribute } from './escape.ts';
import { describePath, evaluate, rangeBounds } from './evaluate.ts';
import { Absent, type RenderState } from './render-state.ts';
import { areEqual, isTruthy, LoopFrame, SafeHtml, toNumber, ValueError } from './values.ts';

/** Finds and renders a partial; injected so that this file does not depend on parsing. */
export type RenderPartial = (
  node: RenderNode,
  locals: Map<string, unknown>,
  state: RenderState,
) => void;

/** Validating a URL, like starting a partial, takes about as long as visiting ten nodes. */
const URL_COST = 10;
const PARTIAL_COST = 10;

type Jump = 'break' | 'continue' | undefined;

/** Renders the nodes to `state.out`. */
export function renderNodes(
  nodes: readonly ContentNode[],
  state: RenderState,
  partial: RenderPartial,
): void {
  new Renderer(state, partial).document(nodes);
}

class Renderer {
  readonly #state: RenderState;
  readonly #partial: RenderPartial;
  /** The output before the open URL attribute; undefined outside of one. */
  #beforeUrl: string | undefined;

  constructor(state: RenderState, partial: RenderPartial) {
    this.#state = state;
    this.#partial = partial;
  }

  document(nodes: readonly ContentNode[]): void {
    this.#nodes(nodes);
    if (this.#beforeUrl !== undefined) this.#closeUrl('link', 0);
  }

  #nodes(nodes: readonly ContentNode[]): Jump {
    const state = this.#state;
    state.budget.spend(nodes.length, state.settings.field);
    for (const node of nodes) {
      if (node.kind === 'text') {
        state.write(node.text);
        continue;
      }
      const jump = this.#node(node);
      if (jump) return jump;
    }
    return undefined;
  }

  #node(node: Exclude<ContentNode, { kind: 'text' }>): Jump {
    switch (node.kind) {
      case 'output':
        this.#output(node);
        return undefined;
      case 'if':
        for (const { condition, negated, body } of node.branches) {
          this.#state.spend(1);
          if (!condition || isTruthy(evaluate(condition, this.#state, false)) !== negated) {
            return this.#nodes(body);
          }
        }
        return undefined;
      case 'case':
        return this.#case(node);
      case 'for':
        return this.#for(node);
      case 'assign':
        this.#state.locals.set(node.name, this.#evaluateLocal(node.expr));
        return undefined;
      case 'capture':
        return this.#capture(node.name, node.body);
      case 'render':
        this.#render(node);
        return undefined;
      case 'url-open':
        this.#beforeUrl = this.#state.out;
        this.#state.out = '';
        return undefined;
      case 'url-close':
        this.#closeUrl(node.check, node.at);
        return undefined;
      default:
        return node.kind;
    }
  }

  #output(node: OutputNode): void {
    const state = this.#state;
    const reports = state.reports;
    const value = evaluate(node.expr, state, true);
    if (state.reports !== reports) return;
    state.spendOnText(value);
    try {
      state.write(escapeForContext(node.context, node.escapeDashes, value, state, node.at));
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      state.report(node.at, describePath(node.expr, state), 'invalid_variable', error.message);
    }
  }

  /** Unlike Liquid, which renders every matching branch, this stops at the first. */
  #case(node: Extract<ContentNode, { kind: 'case' }>): Jump {
    const subject = evaluate(node.subject, this.#state, false);
    this.#state.spend(node.branches.reduce((sum, { values }) => sum + (values?.length ?? 0), 0));
    const branch = node.branches.find(
      ({ values }) =>
        !values ||
        values.some((value) => areEqual(subject, evaluate(value, this.#state, false), this.#state)),
    );
    return branch && this.#nodes(branch.body);
  }

  /**
   * A plain path may be absent, because a later `if` may test it; using it then reports the path. A value
   * computed from an absent one would look valid, so everything else is strict.
   */
  #evaluateLocal(expr: Expr): unknown {
    const value = evaluate(expr, this.#state, expr.kind === 'filtered' || expr.kind === 'range');
    if (value === undefined && expr.kind === 'path')
      return new Absent(describePath(expr, this.#state));
    return value;
  }

  #capture(name: string, body: readonly ContentNode[]): Jump {
    const state = this.#state;
    const before = state.out;
    const beforeUrl = this.#beforeUrl;
    state.out = '';
    this.#beforeUrl = undefined;
    const jump = this.#nodes(body);
    state.locals.set(name, state.settings.format === 'html' ? new SafeHtml(state.out) : state.out);
    state.out = before;
    this.#beforeUrl = beforeUrl;
    return jump;
  }

  #closeUrl(check: 'link' | 'image' | 'srcset' | 'refresh', at: number): void {
    const state = this.#state;
    state.budget.spend(URL_COST, state.settings.field);
    const address = state.out;
    const dangerous = isDangerousAttribute(address, check);
    if (dangerous) state.warn(at, 'unsafe_url', DANGEROUS_URL);
    state.out = (this.#beforeUrl ?? '') + (dangerous ? '#' : address);
    this.#beforeUrl = undefined;
  }

  #for(node: ForNode): Jump {
    const state = this.#state;
    const list = this.#listOf(node.list, node.elseBody === undefined, node.at);
    const offset = this.#wholeNumber(node.offset, 0);
    const available = Math.max(0, list.length - offset);
    const length = Math.min(available, this.#wholeNumber(node.limit, available));
    if (length === 0) return node.elseBody ? this.#nodes(node.elseBody) : undefined;
    state.budget.iterate(length, state.settings.field);
    const frame = new LoopFrame(length, describePath(node.list, state), state.frames.at(-1));
    state.frames.push(frame);
    for (let index = 0; index < length; index++) {
      frame.index = index;
      frame.sourceIndex = offset + (node.reversed ? length - 1 - index : index);
      frame.item = list.item(frame.sourceIndex);
      if (this.#nodes(node.body) === 'break') break;
    }
    state.frames.pop();
    return undefined;
  }

  /** The items of a loop: a list, the entries of an object, or a range that is never materialized. */
  #listOf(expr: Expr, strict: boolean, at: number): LoopList {
    const state = this.#state;
    if (expr.kind === 'range') {
      const { low, length } = rangeBounds(expr, state, true);
      return { length, item: (index) => low + index };
    }
    const value = evaluate(expr, state, strict);
    if (Array.isArray(value)) return { length: value.length, item: (index) => value[index] };
    if (value === undefined || value === null || value === '')
      return { length: 0, item: () => undefined };
    if (typeof value === 'string') return { length: 1, item: () => value };
    if (
      typeof value === 'object' &&
      !(value instanceof SafeHtml) &&
      !(value instanceof LoopFrame)
    ) {
      const entries = Object.entries(value);
      state.spendOnLength(entries.length << 4);
      return { length: entries.length, item: (index) => entries[index] };
    }
    const path = describePath(expr, state);
    state.report(at, path, 'invalid_variable', `\`${path}\` is not a list.`);
    return { length: 0, item: () => undefined };
  }

  #wholeNumber(expr: Expr | undefined, fallback: number): number {
    if (!expr) return fallback;
    const value = evaluate(expr, this.#state, true);
    if (value === undefined) return fallback;
    this.#state.spendOnText(value);
    try {
      return Math.max(0, Math.trunc(toNumber(value)));
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      return fallback;
    }
  }

  #render(node: RenderNode): void {
    const state = this.#state;
    state.spend(PARTIAL_COST + node.values.length);
    const locals = new Map<string, unknown>();
    for (const { name, expr } of node.values) locals.set(name, this.#evaluateLocal(expr));
    const { binding } = node;
    if (!binding?.each) {
      if (binding) locals.set(binding.name, this.#evaluateLocal(binding.expr));
      this.#partial(node, locals, state);
      return;
    }
    const { name, expr } = binding;
    const list = this.#listOf(expr, true, node.at);
    state.budget.iterate(list.length, state.settings.field);
    for (let index = 0; index < list.length; index++) {
      state.spend(PARTIAL_COST + node.values.length);
      locals.set(name, list.item(index));
      this.#partial(node, locals, state);
    }
  }
}

interface LoopList {
  length: number;
  item(index: number): unknown;
}

/** A stack or string overflow means that a limit was reached, not that the engine has a bug. */
export function toLimitError(error: unknown, field: string): unknown {
  if (!(error instanceof RangeError)) return error;
  return new ContentLimitError(field, 'A value is nested too deeply or becomes too long.');
}
