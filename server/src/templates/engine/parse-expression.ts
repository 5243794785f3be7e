import { type Token, Tokenizer, TypeGuards } from 'liquidjs';
import { didYouMean } from '../../lib/did-you-mean.ts';
import type { Expr, FilterCallNode, Operator, PathExpr } from './content-nodes.ts';
import { FILTERS } from './filters.ts';
import { equivalentFilter } from './liquid-hints.ts';

/**
 * Parses Liquid expressions: LiquidJS's tokenizer reads the grammar, and its tokens are converted to our
 * expression nodes. The tokenizer is lenient in ways that would mislead authors (`{{ first name }}` reads
 * as `first`), so everything it leaves unread is rejected. Tokenizer and TypeGuards are LiquidJS
 * internals: check this file whenever LiquidJS is updated.
 */

/** Names in scope where the expression is used. */
export interface NameBindings {
  /** Variables of the enclosing loops, outermost first. */
  loops: readonly { variable: string; fromContact: boolean }[];
  /** Assigned names whose value comes from the contact record. */
  contactNames: ReadonlySet<string>;
  /** Where the placeholder or tag starts, which is the position reported for a missing value. */
  placeholderAt: number;
  /** Called with every root that the caller must supply. */
  onRoot(root: string): void;
}

export class ExpressionError extends Error {
  readonly at: number;

  constructor(at: number, detail: string) {
    super(detail);
    this.name = 'ExpressionError';
    this.at = at;
  }
}

const SIMPLE_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const LITERALS = new Set(['true', 'false', 'nil', 'null', 'empty', 'blank', 'not']);
const NESTING_MAX = 16;

/** Better explanations for LiquidJS errors that are typical of other template languages. */
const HINTS = new Map([
  ['expected ":" after filter name', 'filter arguments follow a colon, as in `default: "there"`'],
  [
    'expected "|" before filter',
    'only filters can follow a value, as in `price | times: 2`; conditions are tags, `{% if … %}`',
  ],
]);

/** Parses all of `source[begin, end)` as a value with filters. */
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

/** Parses a path that is known to be plain, such as that of `${dotted.path}`. */
export function parsePlainPath(text: string, bindings: NameBindings): PathExpr {
  const [root = '', ...segments] = text.split('.');
  return bindPath(root, segments, bindings);
}

/** Reads the arguments of a tag one at a time. */
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
      if (!token) throw new ExpressionError(this.at, `Expected a value${this.#found()}.`);
      return this.#fromToken(token);
    });
  }

  identifier(): string {
    return this.#tokenizer.readIdentifier().getText();
  }

  /** Consumes `word` if it comes next. */
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
    if (!this.ended()) throw new ExpressionError(this.at, `Unexpected syntax${this.#found()}.`);
  }

  /** Converts LiquidJS errors, which carry a token, to ExpressionErrors. */
  #guard<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof ExpressionError) throw error;
      const at = (error as { token?: Token }).token?.begin ?? this.at;
      const message =
        error instanceof Error ? error.message.replace(/, line:\d+, col:\d+$/, '') : '';
      throw new ExpressionError(at, `Syntax error: ${HINTS.get(message) ?? message}.`);
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
        throw new ExpressionError(token.begin, `\`${token.operator}\` is missing a value.`);
      }
      if (left === undefined) stack.push({ kind: 'not', operand: right });
      else stack.push({ kind: 'binary', operator: token.operator as Operator, left, right });
    }
    const [expr, extra] = stack;
    if (expr === undefined) throw new ExpressionError(begin, 'Expected a value.');
    if (extra !== undefined) {
      const second = postfix.find(
        (token, index) => index > 0 && !TypeGuards.isOperatorToken(token),
      );
      throw new ExpressionError(
        second?.begin ?? begin,
        `Unexpected \`${second?.getText() ?? ''}\`. Names cannot contain spaces; filters follow \`|\`.`,
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
    throw new ExpressionError(token.begin, `Unexpected \`${token.getText()}\`.`);
  }

  #path(token: Token & { variable?: unknown; props: readonly Token[] }): PathExpr {
    const [first, ...rest] = token.props;
    if (token.variable !== undefined || !first || !TypeGuards.isWordToken(first)) {
      throw new ExpressionError(token.begin, `\`${token.getText()}\` is not a valid path.`);
    }
    const segments = rest.map((prop) => {
      if (TypeGuards.isWordToken(prop) && prop.size() === 0) {
        throw new ExpressionError(prop.begin, 'The brackets `[]` are empty.');
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
      const near = equivalentFilter(token.name) ?? didYouMean(token.name, FILTERS.keys());
      throw new ExpressionError(
        token.begin,
        `Unknown filter \`${token.name}\`.${near ? ` Did you mean \`${near}\`?` : ''}`,
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
      'Placeholders inside a string are not replaced. Use the variable itself, or join strings with `append`.',
    );
  }
  return { kind: 'literal', value: token.content };
}

/** Rejects input that would recurse too deeply in the tokenizer. */
function checkNesting(text: string, begin: number): void {
  let nested = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5b || code === 0x28) nested += 1;
    else if (code === 0x7b && text.charCodeAt(i + 1) === 0x7b) {
      throw new ExpressionError(begin + i, 'Placeholders cannot be nested.');
    }
  }
  if (nested > NESTING_MAX) {
    throw new ExpressionError(begin, `An expression can have at most ${NESTING_MAX} brackets.`);
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
