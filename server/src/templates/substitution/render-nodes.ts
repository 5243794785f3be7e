import { ContentLimitError } from './content-errors.ts';
import type { ContentNode, Expr, ForNode, OutputNode, RenderNode } from './content-nodes.ts';
import { DANGEROUS_URL, isDangerousAttribute, writeAt } from './escape.ts';
import { describePath, evaluate, rangeBounds } from './evaluate.ts';
import { SafeHtml, ValueProblem } from './filter-spec.ts';
import { Absent, LoopFrame, type Run } from './run.ts';
import { areEqual, isTrue, toNumber } from './values.ts';

/** How a partial is found and rendered; kept apart so that this file knows nothing of parsing. */
export type RenderPartial = (node: RenderNode, locals: Map<string, unknown>, run: Run) => void;

/** Judging an address takes as long as visiting some ten nodes, and so does beginning a partial. */
const URL_COST = 10;
const PARTIAL_COST = 10;

type Jump = 'break' | 'continue' | undefined;

/** Writes the nodes to `run.out`. A jump out of a loop is told to the caller. */
export function renderNodes(nodes: readonly ContentNode[], run: Run, partial: RenderPartial): void {
  new Renderer(run, partial).document(nodes);
}

class Renderer {
  readonly #run: Run;
  readonly #partial: RenderPartial;
  /** What was written before the open URL attribute; undefined outside of one. */
  #beforeUrl: string | undefined;

  constructor(run: Run, partial: RenderPartial) {
    this.#run = run;
    this.#partial = partial;
  }

  document(nodes: readonly ContentNode[]): void {
    this.#nodes(nodes);
    if (this.#beforeUrl !== undefined) this.#closeUrl('link', 0);
  }

  #nodes(nodes: readonly ContentNode[]): Jump {
    const run = this.#run;
    run.budget.spend(nodes.length, run.settings.field);
    for (const node of nodes) {
      if (node.kind === 'text') {
        run.write(node.text);
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
          this.#run.spend(1);
          if (!condition || isTrue(evaluate(condition, this.#run, false)) !== negated) {
            return this.#nodes(body);
          }
        }
        return undefined;
      case 'case':
        return this.#case(node);
      case 'for':
        return this.#for(node);
      case 'assign':
        this.#run.locals.set(node.name, this.#assigned(node.expr));
        return undefined;
      case 'capture':
        return this.#capture(node.name, node.body);
      case 'render':
        this.#render(node);
        return undefined;
      case 'url-open':
        this.#beforeUrl = this.#run.out;
        this.#run.out = '';
        return undefined;
      case 'url-close':
        this.#closeUrl(node.check, node.at);
        return undefined;
      default:
        return node.kind;
    }
  }

  #output(node: OutputNode): void {
    const run = this.#run;
    const reports = run.reports;
    const value = evaluate(node.expr, run, true);
    if (run.reports !== reports) return;
    run.spendOnText(value);
    try {
      run.write(writeAt(node.spot, node.dashes, value, run, node.at));
    } catch (error) {
      if (!(error instanceof ValueProblem)) throw error;
      run.report(node.at, describePath(node.expr, run), 'invalid_variable', error.message);
    }
  }

  /** Liquid renders every branch that matches, not only the first; we stop at the first. */
  #case(node: Extract<ContentNode, { kind: 'case' }>): Jump {
    const subject = evaluate(node.subject, this.#run, false);
    this.#run.spend(node.branches.reduce((sum, { values }) => sum + (values?.length ?? 0), 0));
    const branch = node.branches.find(
      ({ values }) =>
        !values ||
        values.some((value) => areEqual(subject, evaluate(value, this.#run, false), this.#run)),
    );
    return branch && this.#nodes(branch.body);
  }

  /**
   * A plain path may be absent, because a later `if` may ask for it; its use tells the path.
   * Anything computed from an absent value would only look like a value, so it is strict.
   */
  #assigned(expr: Expr): unknown {
    const value = evaluate(expr, this.#run, expr.kind === 'filtered' || expr.kind === 'range');
    if (value === undefined && expr.kind === 'path')
      return new Absent(describePath(expr, this.#run));
    return value;
  }

  #capture(name: string, body: readonly ContentNode[]): Jump {
    const run = this.#run;
    const before = run.out;
    const beforeUrl = this.#beforeUrl;
    run.out = '';
    this.#beforeUrl = undefined;
    const jump = this.#nodes(body);
    run.locals.set(name, run.settings.place === 'html' ? new SafeHtml(run.out) : run.out);
    run.out = before;
    this.#beforeUrl = beforeUrl;
    return jump;
  }

  #closeUrl(check: 'link' | 'image' | 'srcset' | 'refresh', at: number): void {
    const run = this.#run;
    run.budget.spend(URL_COST, run.settings.field);
    const address = run.out;
    const dangerous = isDangerousAttribute(address, check);
    if (dangerous) run.warn(at, 'unsafe_url', DANGEROUS_URL);
    run.out = (this.#beforeUrl ?? '') + (dangerous ? '#' : address);
    this.#beforeUrl = undefined;
  }

  #for(node: ForNode): Jump {
    const run = this.#run;
    const list = this.#listOf(node.list, node.otherwise === undefined, node.at);
    const offset = this.#whole(node.offset, 0);
    const available = Math.max(0, list.length - offset);
    const length = Math.min(available, this.#whole(node.limit, available));
    if (length === 0) return node.otherwise ? this.#nodes(node.otherwise) : undefined;
    run.budget.iterate(length, run.settings.field);
    const frame = new LoopFrame(length, describePath(node.list, run), run.frames.at(-1));
    run.frames.push(frame);
    for (let index = 0; index < length; index++) {
      frame.index = index;
      frame.sourceIndex = offset + (node.reversed ? length - 1 - index : index);
      frame.item = list.item(frame.sourceIndex);
      if (this.#nodes(node.body) === 'break') break;
    }
    run.frames.pop();
    return undefined;
  }

  /** What a loop walks over: a list, the pairs of an object, or numbers that are never stored. */
  #listOf(expr: Expr, strict: boolean, at: number): LoopList {
    const run = this.#run;
    if (expr.kind === 'range') {
      const { low, length } = rangeBounds(expr, run, true);
      return { length, item: (index) => low + index };
    }
    const value = evaluate(expr, run, strict);
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
      run.spendOn(entries.length << 4);
      return { length: entries.length, item: (index) => entries[index] };
    }
    const path = describePath(expr, run);
    run.report(at, path, 'invalid_variable', `\`${path}\` is not a list.`);
    return { length: 0, item: () => undefined };
  }

  #whole(expr: Expr | undefined, otherwise: number): number {
    if (!expr) return otherwise;
    const value = evaluate(expr, this.#run, true);
    if (value === undefined) return otherwise;
    this.#run.spendOnText(value);
    try {
      return Math.max(0, Math.trunc(toNumber(value)));
    } catch (error) {
      if (!(error instanceof ValueProblem)) throw error;
      return otherwise;
    }
  }

  #render(node: RenderNode): void {
    const run = this.#run;
    run.spend(PARTIAL_COST + node.values.length);
    const locals = new Map<string, unknown>();
    for (const { name, expr } of node.values) locals.set(name, this.#assigned(expr));
    const { binding } = node;
    if (!binding?.each) {
      if (binding) locals.set(binding.name, this.#assigned(binding.expr));
      this.#partial(node, locals, run);
      return;
    }
    const { name, expr } = binding;
    const list = this.#listOf(expr, true, node.at);
    run.budget.iterate(list.length, run.settings.field);
    for (let index = 0; index < list.length; index++) {
      run.spend(PARTIAL_COST + node.values.length);
      locals.set(name, list.item(index));
      this.#partial(node, locals, run);
    }
  }
}

interface LoopList {
  length: number;
  item(index: number): unknown;
}

/** A stack or a string that outgrew the engine is a limit reached, not a fault of ours. */
export function asLimit(error: unknown, field: string): unknown {
  if (!(error instanceof RangeError)) return error;
  return new ContentLimitError(field, 'A value is nested too deep or grows too long.');
}
