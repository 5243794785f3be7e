import type { ContentNode, Expr, FilterCallNode, PathExpr } from '../engine/content-nodes.ts';
import { ContentLimitError, type ParsedContent, type Partials } from '../template-engine.ts';

/**
 * Finds every use of a value that a send must supply, by static analysis of a parsed field: the path
 * from the caller's root (`lines[].price` for a field of a loop item), the type the use implies, and
 * whether rendering requires the value.
 */

export type InferredType = 'string' | 'number' | 'boolean' | 'date' | 'list';

export interface PathUse {
  path: string;
  type: InferredType;
  /** How much the use reveals about the type: a condition less than an output, an output less than a filter. */
  certainty: 0 | 1 | 2;
  /** Every render needs the value: there is no default and no condition around the use. */
  required: boolean;
  field: string;
  source: string;
  at: number;
}

/** Filters on numbers that take text arguments: a currency code, plural forms. */
const TEXT_ARGUMENT_FILTERS = new Set(['money', 'pluralize']);

const PARTIAL_DEPTH_MAX = 8;
/** Partials that each render others many times are short to write but grow exponentially to visit. */
const VISITED_MAX = 200_000;

/** Throws a ContentLimitError when there are too many nodes to visit. */
export function pathUses(parsed: ParsedContent, partials?: Partials): PathUse[] {
  const result: WalkResult = { uses: [], visited: 0 };
  new UsageWalker(parsed, partials, [], new Map(), result).nodes(parsed.nodes, true);
  return result.uses;
}

/** The result for a field and all partials in it. */
interface WalkResult {
  uses: PathUse[];
  visited: number;
}

/** What a local name refers to: one of the caller's paths, or undefined for a computed value. */
type Locals = Map<string, string | undefined>;

class UsageWalker {
  readonly #parsed: ParsedContent;
  readonly #partials: Partials | undefined;
  readonly #stack: readonly string[];
  readonly #locals: Locals;
  readonly #loops: (string | undefined)[] = [];
  readonly #result: WalkResult;

  constructor(
    parsed: ParsedContent,
    partials: Partials | undefined,
    stack: readonly string[],
    locals: Locals,
    result: WalkResult,
  ) {
    this.#parsed = parsed;
    this.#partials = partials;
    this.#stack = stack;
    this.#locals = locals;
    this.#result = result;
  }

  nodes(nodes: readonly ContentNode[], unconditional: boolean): void {
    this.#result.visited += nodes.length;
    if (this.#result.visited > VISITED_MAX) {
      const { field } = this.#parsed;
      throw new ContentLimitError(field, 'Partials are rendered too many times to be analyzed.');
    }
    for (const node of nodes) this.#node(node, unconditional);
  }

  #node(node: ContentNode, unconditional: boolean): void {
    switch (node.kind) {
      case 'output':
        this.#expr(node.expr, 'string', 1, unconditional);
        return;
      case 'if':
        for (const { condition, body } of node.branches) {
          if (condition) this.#condition(condition);
          this.nodes(body, false);
        }
        return;
      case 'case':
        this.#expr(node.subject, 'string', 0, false);
        for (const { values, body } of node.branches) {
          for (const value of values ?? []) this.#expr(value, 'string', 0, false);
          this.nodes(body, false);
        }
        return;
      case 'for':
        this.#for(node, unconditional);
        return;
      case 'assign':
        this.#assign(node, unconditional);
        return;
      case 'capture':
        this.nodes(node.body, unconditional);
        this.#locals.set(node.name, undefined);
        return;
      case 'render':
        this.#render(node, unconditional);
        return;
      default:
    }
  }

  #for(node: Extract<ContentNode, { kind: 'for' }>, unconditional: boolean): void {
    this.#expr(node.list, 'list', 2, unconditional && node.elseBody === undefined);
    if (node.offset) this.#expr(node.offset, 'number', 2, unconditional);
    if (node.limit) this.#expr(node.limit, 'number', 2, unconditional);
    const list = node.list.kind === 'path' ? this.#pathOf(node.list) : undefined;
    this.#loops.push(list === undefined ? undefined : `${list}[]`);
    this.nodes(node.body, unconditional);
    this.#loops.pop();
    this.nodes(node.elseBody ?? [], false);
  }

  #assign(node: Extract<ContentNode, { kind: 'assign' }>, unconditional: boolean): void {
    const { expr, name } = node;
    // Assigning an alias is not a use; uses of the alias count for the path.
    if (expr.kind !== 'path')
      this.#expr(expr, 'string', 0, unconditional && expr.kind === 'filtered');
    this.#locals.set(name, this.#aliasOf(expr));
  }

  /** A sorted, filtered or reversed list still has the same items. */
  #aliasOf(expr: Expr): string | undefined {
    if (expr.kind === 'path') return this.#pathOf(expr);
    if (expr.kind !== 'filtered' || expr.initial.kind !== 'path') return undefined;
    const keeps = expr.filters.every(({ name }) => ITEM_PRESERVING_FILTERS.has(name));
    return keeps ? this.#pathOf(expr.initial) : undefined;
  }

  #render(node: Extract<ContentNode, { kind: 'render' }>, unconditional: boolean): void {
    const locals: Locals = new Map();
    for (const { name, expr } of node.values) locals.set(name, this.#aliasOf(expr));
    if (node.binding) {
      const { name, expr, each } = node.binding;
      const path = this.#aliasOf(expr);
      if (each) this.#expr(expr, 'list', 2, unconditional);
      locals.set(name, each && path !== undefined ? `${path}[]` : path);
    }
    const partial = this.#partials?.(node.key, this.#parsed.format);
    if (!partial || this.#stack.includes(node.key) || this.#stack.length >= PARTIAL_DEPTH_MAX)
      return;
    const stack = [...this.#stack, node.key];
    new UsageWalker(partial, this.#partials, stack, locals, this.#result).nodes(
      partial.nodes,
      unconditional,
    );
  }

  #condition(expr: Expr): void {
    if (expr.kind === 'binary' && expr.operator !== 'and' && expr.operator !== 'or') {
      const type = literalType(expr.right) ?? literalType(expr.left) ?? 'string';
      this.#expr(expr.left, expr.operator === 'contains' ? 'string' : type, 0, false);
      this.#expr(expr.right, type, 0, false);
    } else if (expr.kind === 'binary') {
      this.#condition(expr.left);
      this.#condition(expr.right);
    } else if (expr.kind === 'not') this.#condition(expr.operand);
    else this.#expr(expr, 'boolean', 0, false);
  }

  #expr(expr: Expr, type: InferredType, certainty: 0 | 1 | 2, required: boolean): void {
    switch (expr.kind) {
      case 'path':
        this.#use(expr, type, certainty, required);
        return;
      case 'filtered':
        this.#filtered(expr, type, certainty, required);
        return;
      case 'range':
        this.#expr(expr.low, 'number', 2, required);
        this.#expr(expr.high, 'number', 2, required);
        return;
      case 'binary':
      case 'not':
        this.#condition(expr);
        return;
      case 'cycle':
        for (const value of expr.values) this.#expr(value, 'string', 1, required);
        return;
      default:
    }
  }

  #filtered(
    expr: Extract<Expr, { kind: 'filtered' }>,
    fallback: InferredType,
    certainty: 0 | 1 | 2,
    required: boolean,
  ): void {
    const informative = expr.filters.find(({ name }) => name !== 'default' && name !== 'raw');
    const expected = informative?.spec.expects;
    const type =
      expected === 'text' ? 'string' : (expected ?? defaultType(expr.filters) ?? fallback);
    const needed = required && expr.defaultAt === -1;
    this.#expr(expr.initial, type, expected && expected !== 'text' ? 2 : certainty, needed);
    for (const [index, filter] of expr.filters.entries()) {
      const numeric = filter.spec.expects === 'number' && !TEXT_ARGUMENT_FILTERS.has(filter.name);
      for (const arg of [...filter.args, ...filter.named.map(({ expr: value }) => value)]) {
        const argumentRequired = required && index >= expr.defaultAt && filter.name !== 'default';
        this.#expr(arg, numeric ? 'number' : 'string', numeric ? 2 : 1, argumentRequired);
      }
    }
    this.#itemFields(expr);
  }

  /** `lines | sum: "price"` implies that items have a price. */
  #itemFields(expr: Extract<Expr, { kind: 'filtered' }>): void {
    const list = expr.initial.kind === 'path' ? this.#pathOf(expr.initial) : undefined;
    if (list === undefined) return;
    for (const { name, args, at } of expr.filters) {
      const [property] = args;
      if (!ITEM_FIELD_FILTERS.has(name) || property?.kind !== 'literal') continue;
      if (typeof property.value !== 'string' || property.value === '') continue;
      const sum = name === 'sum';
      this.#add(`${list}[].${property.value}`, sum ? 'number' : 'string', sum ? 2 : 0, false, at);
    }
  }

  #use(expr: PathExpr, type: InferredType, certainty: 0 | 1 | 2, required: boolean): void {
    for (const segment of expr.segments) {
      if (typeof segment === 'object') this.#expr(segment, 'string', 1, required);
    }
    const path = this.#pathOf(expr);
    if (path === undefined) return;
    // `lines.size` and `lines.first.name` imply that lines is a list.
    const ofList = /^(.*?)\.(?:size|first|last)(?:\.|$)/.exec(path);
    if (!ofList) this.#add(path, type, certainty, required, expr.at);
    else if (ofList[1] !== undefined) this.#add(ofList[1], 'list', 1, required, expr.at);
  }

  #add(
    path: string,
    type: InferredType,
    certainty: 0 | 1 | 2,
    required: boolean,
    at: number,
  ): void {
    const { field, source } = this.#parsed;
    this.#result.uses.push({ path, type, certainty, required, field, source, at });
  }

  /** The path from the caller's root; undefined for values computed inside the template. */
  #pathOf(expr: PathExpr): string | undefined {
    let path: string | undefined = expr.root;
    if (expr.frame !== -1) path = expr.root === 'forloop' ? undefined : this.#loops[expr.frame];
    else if (this.#locals.has(expr.root)) path = this.#locals.get(expr.root);
    if (path === undefined) return undefined;
    for (const segment of expr.segments) {
      if (typeof segment === 'object') return path;
      const index = typeof segment === 'number' || /^-?\d+$/.test(segment);
      path += index ? '[]' : `.${segment}`;
    }
    return path;
  }
}

const ITEM_PRESERVING_FILTERS = new Set([
  'sort',
  'sort_natural',
  'reverse',
  'where',
  'reject',
  'uniq',
  'compact',
]);
const ITEM_FIELD_FILTERS = new Set([
  'map',
  'where',
  'reject',
  'sort',
  'sort_natural',
  'sum',
  'group_by',
  'find',
  'has',
]);

function literalType(expr: Expr): InferredType | undefined {
  if (expr.kind !== 'literal') return undefined;
  if (typeof expr.value === 'number') return 'number';
  if (typeof expr.value === 'boolean') return 'boolean';
  return typeof expr.value === 'string' ? 'string' : undefined;
}

function defaultType(filters: readonly FilterCallNode[]): InferredType | undefined {
  const value = filters.find(({ name }) => name === 'default')?.args[0];
  return value ? literalType(value) : undefined;
}
