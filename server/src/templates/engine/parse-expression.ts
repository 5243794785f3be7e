import { type Token, Tokenizer, TypeGuards } from 'liquidjs';
import { closest } from './closest-name.ts';
import type { Expr, FilterCallNode, Operator, PathExpr } from './content-nodes.ts';
import { FILTERS } from './filters.ts';
import { equivalentFilter } from './liquid-hints.ts';

/**
 * Liquid's expression grammar is LiquidJS's own: its tokenizer reads, and what it read is turned
 * here into our expressions. It is lenient where an author would be misled (`{{ first name }}` reads
 * as `first`), so everything that was not understood is refused.
 */

/** Names bound where the expression stands. */
export interface NameBindings {
  /** Variables of the enclosing loops, outermost first. */
  loops: readonly { variable: string; fromContact: boolean }[];
  /** Assigned names whose value comes out of the contact record. */
  contactNames: ReadonlySet<string>;
  /** Where the placeholder or tag begins: the place told when a value is missing. */
  placeholderAt: number;
  /** Called with every root that the caller has to supply. */
  onRoot(root: string): void;
}

export class ExpressionError extends Error {
  readonly at: number;

  constructor(at: number, detail: string) {
    super(detail);
    this.name = 'ExpressionProblem';
    this.at = at;
  }
}

const SIMPLE_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const LITERALS = new Set(['true', 'false', 'nil', 'null', 'empty', 'blank', 'not']);
const NESTING_MAX = 16;

/** What LiquidJS says of what other languages write. */
const HINTS = new Map([
  [
    'expected ":" after filter name',
    'what a filter takes stands behind a colon, as in `default: "there"`',
  ],
  [
    'expected "|" before filter',
    'behind a value only filters stand, as in `price | times: 2`; conditions are tags, `{% if … %}`',
  ],
]);

/** Reads `source[begin, end)` to its end: a value with filters. */
export function parseFilteredValue(
  source: string,
  begin: number,
  end: number,
  bindings: NameBindings,
): Expr {
  const text = source.slice(begin, end);
  if (SIMPLE_PATH.test(text) && !LITERALS.has(text)) return parsePlainPath(text, bindings);
  const reader = new ExpressionReader(source, begin, end, bindings);
  const expr = reader.filteredValue();
  reader.expectEnd();
  return expr;
}

/** A path whose syntax is already known to be plain, such as that of `${dotted.path}`. */
export function parsePlainPath(text: string, bindings: NameBindings): PathExpr {
  const [root = '', ...segments] = text.split('.');
  return bindPath(root, segments, bindings);
}

/** Reads the arguments of a tag piece by piece. */
export class ExpressionReader {
  readonly #tokenizer: Tokenizer;
  readonly #bindings: NameBindings;

  constructor(source: string, begin: number, end: number, bindings: NameBindings) {
    checkNesting(source.slice(begin, end), begin);
    this.#tokenizer = new Tokenizer(source, undefined, undefined, [begin, end]);
    this.#bindings = bindings;
  }

  get at(): number {
    return this.#tokenizer.p;
  }

  filteredValue(): Expr {
    return this.#guard(() => {
      this.#tokenizer.skipBlank();
      const begin = this.#tokenizer.p;
      const token = this.#tokenizer.readFilteredValue();
      const initial = this.#fromPostfix(token.initial.postfix, begin);
      if (token.filters.length === 0) return initial;
      const filters = token.filters.map((filter) => this.#filter(filter));
      const defaultAt = filters.findLastIndex((filter) => filter.name === 'default');
      return { kind: 'filtered', initial, filters, defaultAt };
    });
  }

  value(): Expr {
    return this.#guard(() => {
      const token = this.#tokenizer.readValue();
      if (!token) throw new ExpressionError(this.at, `A value is expected${this.#found()}.`);
      return this.#fromToken(token);
    });
  }

  identifier(): string {
    return this.#tokenizer.readIdentifier().getText();
  }

  /** Consumes `word` when it comes next. */
  accept(word: string): boolean {
    const begin = this.#tokenizer.p;
    this.#tokenizer.skipBlank();
    const found = /^\w/.test(word)
      ? this.#tokenizer.readIdentifier().getText() === word
      : this.#tokenizer.peek() === word && this.#tokenizer.read() === word;
    if (!found) this.#tokenizer.p = begin;
    return found;
  }

  ended(): boolean {
    this.#tokenizer.skipBlank();
    return this.#tokenizer.end();
  }

  expectEnd(): void {
    if (!this.ended())
      throw new ExpressionError(this.at, `This is not understood${this.#found()}.`);
  }

  /** LiquidJS errors carry a token; ours a sentence. */
  #guard<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof ExpressionError) throw error;
      const at = (error as { token?: Token }).token?.begin ?? this.at;
      const message =
        error instanceof Error ? error.message.replace(/, line:\d+, col:\d+$/, '') : '';
      throw new ExpressionError(at, `This is not understood: ${HINTS.get(message) ?? message}.`);
    }
  }

  #found(): string {
    const rest = this.#tokenizer.remaining();
    return rest === '' ? '' : `: \`${rest.length > 32 ? `${rest.slice(0, 32)}…` : rest}\``;
  }

  #fromPostfix(postfix: readonly Token[], begin: number): Expr {
    const stack: Expr[] = [];
    for (const token of postfix) {
      if (!TypeGuards.isOperatorToken(token)) {
        stack.push(this.#fromToken(token));
        continue;
      }
      const right = stack.pop();
      const left = token.operator === 'not' ? undefined : stack.pop();
      if (right === undefined || (left === undefined && token.operator !== 'not')) {
        throw new ExpressionError(token.begin, `\`${token.operator}\` lacks a value beside it.`);
      }
      if (left === undefined) stack.push({ kind: 'not', operand: right });
      else stack.push({ kind: 'binary', operator: token.operator as Operator, left, right });
    }
    const [expr, extra] = stack;
    if (expr === undefined) throw new ExpressionError(begin, 'A value is expected.');
    if (extra !== undefined) {
      const second = postfix.find(
        (token, index) => index > 0 && !TypeGuards.isOperatorToken(token),
      );
      throw new ExpressionError(
        second?.begin ?? begin,
        `\`${second?.getText() ?? ''}\` is not expected here. A name has no spaces; filters come after \`|\`.`,
      );
    }
    return expr;
  }

  #fromToken(token: Token): Expr {
    if (TypeGuards.isPropertyAccessToken(token)) return this.#path(token);
    if (TypeGuards.isQuotedToken(token)) return parseQuoted(token);
    if (TypeGuards.isNumberToken(token)) return { kind: 'literal', value: token.content };
    if (TypeGuards.isRangeToken(token)) {
      const low = this.#fromToken(token.lhs);
      return {
        kind: 'range',
        low,
        high: this.#fromToken(token.rhs),
        at: this.#bindings.placeholderAt,
      };
    }
    if (TypeGuards.isLiteralToken(token)) {
      const name: string = token.literal;
      if (name === 'empty' || name === 'blank') return { kind: 'void', blank: name === 'blank' };
      if (name === 'true' || name === 'false') return { kind: 'literal', value: name === 'true' };
      return { kind: 'literal', value: null };
    }
    throw new ExpressionError(token.begin, `\`${token.getText()}\` is not understood.`);
  }

  #path(token: Token & { variable?: unknown; props: readonly Token[] }): PathExpr {
    const [first, ...rest] = token.props;
    if (token.variable !== undefined || !first || !TypeGuards.isWordToken(first)) {
      throw new ExpressionError(token.begin, `\`${token.getText()}\` is not a path.`);
    }
    const segments = rest.map((prop) => {
      if (TypeGuards.isWordToken(prop) && prop.size() === 0) {
        throw new ExpressionError(prop.begin, 'There is nothing between `[` and `]`.');
      }
      if (TypeGuards.isWordToken(prop) || TypeGuards.isQuotedToken(prop)) return prop.content;
      if (TypeGuards.isNumberToken(prop)) return prop.content;
      return this.#fromToken(prop);
    });
    return bindPath(first.content, segments, this.#bindings);
  }

  #filter(token: Token & { name: string; args: readonly unknown[] }): FilterCallNode {
    const spec = FILTERS.get(token.name);
    if (!spec) {
      const near = equivalentFilter(token.name) ?? closest(token.name, FILTERS.keys());
      throw new ExpressionError(
        token.begin,
        `There is no filter \`${token.name}\`.${near ? ` Did you mean \`${near}\`?` : ''}`,
      );
    }
    const args: Expr[] = [];
    const named: { name: string; expr: Expr }[] = [];
    for (const arg of token.args) {
      if (Array.isArray(arg)) named.push({ name: String(arg[0]), expr: this.#fromToken(arg[1]) });
      else args.push(this.#fromToken(arg as Token));
    }
    if (args.length < spec.argsMin || args.length > spec.argsMax) {
      throw new ExpressionError(
        token.begin,
        wrongArgumentCount(token.name, spec.argsMin, spec.argsMax),
      );
    }
    return { name: token.name, spec, args, named, at: this.#bindings.placeholderAt };
  }
}

function parseQuoted(token: Token & { content: string }): Expr {
  const text = token.getText();
  if (text.length < 2 || text.at(-1) !== text[0]) {
    throw new ExpressionError(token.begin, 'A quotation mark is not closed.');
  }
  if (text.includes('${') || text.includes('{{')) {
    throw new ExpressionError(
      token.begin,
      'A placeholder inside a string is not filled in. Name the variable itself, or join pieces with `append`.',
    );
  }
  return { kind: 'literal', value: token.content };
}

/** What would only nest the parser's own stack. */
function checkNesting(text: string, begin: number): void {
  let nested = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5b || code === 0x28) nested += 1;
    else if (code === 0x7b && text.charCodeAt(i + 1) === 0x7b) {
      throw new ExpressionError(begin + i, 'A placeholder cannot stand inside another one.');
    }
  }
  if (nested > NESTING_MAX) {
    throw new ExpressionError(
      begin,
      `There are more than ${NESTING_MAX} brackets in one expression.`,
    );
  }
}

function bindPath(
  root: string,
  segments: (string | number | Expr)[],
  bindings: NameBindings,
): PathExpr {
  const { loops } = bindings;
  const frame =
    root === 'forloop' && loops.length > 0
      ? loops.length - 1
      : loops.findLastIndex((loop) => loop.variable === root);
  if (frame === -1) bindings.onRoot(root);
  const fromContact =
    frame === -1
      ? root === 'contact' || bindings.contactNames.has(root)
      : loops[frame]?.fromContact === true;
  return { kind: 'path', root, frame, fromContact, segments, at: bindings.placeholderAt };
}

function wrongArgumentCount(name: string, min: number, max: number): string {
  const wanted = min === max ? `${min}` : max === Infinity ? `at least ${min}` : `${min} to ${max}`;
  return `The filter \`${name}\` takes ${wanted} ${max === 1 ? 'argument' : 'arguments'}.`;
}
