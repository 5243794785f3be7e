import { didYouMean } from '../../lib/did-you-mean.ts';
import { ContentLimitError, ContentSyntaxError, positionAt } from './content-errors.ts';
import type { CaseBranch, ContentNode, Expr, IfBranch } from './content-nodes.ts';
import { type Lexeme, lexContent } from './lexer.ts';
import { outputHint } from './liquid-hints.ts';
import {
  ExpressionError,
  ExpressionReader,
  type NameBindings,
  parseFilteredValue,
  parsePlainPath,
} from './parse-expression.ts';
import {
  type ForTag,
  parseCycleTag,
  parseForTag,
  parseNewName,
  parseRenderTag,
  parseWhenValues,
} from './parse-tags.ts';

/** The syntax tree of a field, before its outputs are assigned HTML contexts. */
export interface ContentTree {
  nodes: ContentNode[];
  /** Every root that the caller or the contact record must supply. */
  roots: Set<string>;
  partialKeys: Set<string>;
}

type TagLexeme = Extract<Lexeme, { kind: 'tag' }>;

const DEPTH_MAX = 32;
/** Syntax errors reported per field. */
const ERRORS_MAX = 20;
const BLOCK_ENDS: Record<string, string> = {
  if: 'endif',
  unless: 'endunless',
  case: 'endcase',
  for: 'endfor',
  capture: 'endcapture',
};
const TAGS = [
  'if',
  'elsif',
  'else',
  'unless',
  'case',
  'when',
  'for',
  'break',
  'continue',
  'assign',
  'capture',
  'cycle',
  'increment',
  'decrement',
  'echo',
  'render',
  'raw',
  'comment',
  ...Object.values(BLOCK_ENDS),
];

export function parseBlocks(source: string, field: string): ContentTree {
  return new BlockParser(source, field).run();
}

class BlockParser {
  readonly #source: string;
  readonly #field: string;
  readonly #lexemes: Lexeme[];
  readonly #roots = new Set<string>();
  readonly #partialKeys = new Set<string>();
  readonly #assigned = new Set<string>();
  readonly #loops: { variable: string; fromContact: boolean }[] = [];
  readonly #contactNames = new Set<string>();
  readonly #bindings: NameBindings;
  readonly #errors: ExpressionError[] = [];
  #next = 0;
  #depth = 0;

  constructor(source: string, field: string) {
    this.#source = source;
    this.#field = field;
    this.#lexemes = lexContent(source, field);
    this.#bindings = {
      loops: this.#loops,
      contactNames: this.#contactNames,
      placeholderAt: 0,
      onRoot: (root) => {
        if (!this.#assigned.has(root)) this.#roots.add(root);
      },
    };
  }

  run(): ContentTree {
    const { nodes } = this.#body(undefined, []);
    this.#throwErrors();
    return { nodes, roots: this.#roots, partialKeys: this.#partialKeys };
  }

  /** Parses nodes up to one of the tags in `ends`, which is consumed and returned. */
  #body(opener: TagLexeme | undefined, ends: readonly string[]): Body {
    if (++this.#depth > DEPTH_MAX) {
      throw new ContentLimitError(
        this.#field,
        `Blocks are nested more than ${DEPTH_MAX} levels deep.`,
      );
    }
    const nodes: ContentNode[] = [];
    for (;;) {
      const lexeme = this.#lexemes[this.#next++];
      if (lexeme === undefined) {
        if (opener === undefined) break;
        this.#fail(
          opener.at,
          `\`{% ${opener.name} %}\` is not closed by \`{% ${BLOCK_ENDS[opener.name]} %}\`.`,
        );
      }
      if (lexeme.kind === 'tag' && ends.includes(lexeme.name)) {
        this.#depth -= 1;
        return { nodes, end: lexeme };
      }
      try {
        const node = this.#node(lexeme);
        if (node) nodes.push(node);
      } catch (error) {
        this.#record(error);
      }
    }
    this.#depth -= 1;
    return { nodes, end: undefined };
  }

  #node(lexeme: Lexeme): ContentNode | undefined {
    switch (lexeme.kind) {
      case 'text':
        return lexeme;
      case 'dollar':
        this.#bindings.placeholderAt = lexeme.at;
        return output(parsePlainPath(lexeme.path, this.#bindings), lexeme.at);
      case 'output':
        return output(this.#outputExpression(lexeme), lexeme.at);
      case 'tag':
        return this.#tag(lexeme);
    }
  }

  #tag(tag: TagLexeme): ContentNode | undefined {
    switch (tag.name) {
      case 'if':
      case 'unless':
        return this.#if(tag);
      case 'case':
        return this.#case(tag);
      case 'for':
        return this.#for(tag);
      case 'assign':
        return this.#assign(tag);
      case 'capture':
        return this.#capture(tag);
      case 'cycle':
        return this.#cycle(tag);
      case 'echo':
        return output(this.#expression(tag), tag.at);
      case 'increment':
      case 'decrement': {
        const name = parseNewName(tag, this.#reader(tag));
        const step = tag.name === 'increment' ? 1 : -1;
        return output({ kind: 'counter', name, step }, tag.at);
      }
      case 'break':
      case 'continue':
        if (this.#loops.length === 0)
          this.#fail(tag.at, `\`{% ${tag.name} %}\` is outside a loop.`);
        return { kind: tag.name, at: tag.at };
      case 'render':
        return this.#render(tag);
      default:
        return this.#unexpectedTag(tag);
    }
  }

  #if(tag: TagLexeme): ContentNode {
    const branches: IfBranch[] = [];
    let condition: Expr | undefined = this.#condition(tag);
    let negated = tag.name === 'unless';
    const close = BLOCK_ENDS[tag.name] ?? '';
    for (;;) {
      const ends = condition ? ['elsif', 'else', close] : [close];
      const { nodes, end } = this.#body(tag, ends);
      branches.push({ condition, negated, body: nodes });
      if (end === undefined || end.name === close) break;
      condition = end.name === 'elsif' ? this.#condition(end) : undefined;
      negated = false;
    }
    return { kind: 'if', branches, at: tag.at };
  }

  #case(tag: TagLexeme): ContentNode {
    const subject = this.#condition(tag);
    const branches: CaseBranch[] = [];
    const before = this.#body(tag, ['when', 'else', 'endcase']);
    let end = before.end;
    while (end !== undefined && end.name !== 'endcase') {
      const when = end;
      const values =
        when.name === 'when'
          ? this.#recover(() => parseWhenValues(this.#reader(when)), [])
          : undefined;
      const ends = values ? ['when', 'else', 'endcase'] : ['endcase'];
      const body = this.#body(tag, ends);
      branches.push({ values, body: body.nodes });
      end = body.end;
    }
    return { kind: 'case', subject, branches, at: tag.at };
  }

  #for(tag: TagLexeme): ContentNode {
    const head = this.#recover(() => parseForTag(tag, this.#reader(tag)), EMPTY_LOOP);
    const { variable, list } = head;
    const fromContact = list.kind === 'path' && list.fromContact;
    this.#loops.push({ variable, fromContact });
    const body = this.#body(tag, ['else', 'endfor']);
    this.#loops.pop();
    const elseBody = body.end?.name === 'else' ? this.#body(tag, ['endfor']).nodes : undefined;
    return { kind: 'for', ...head, body: body.nodes, elseBody, at: tag.at };
  }

  #assign(tag: TagLexeme): ContentNode {
    const reader = this.#reader(tag);
    const name = parseNewName(tag, reader);
    if (!reader.accept('='))
      this.#fail(tag.at, 'An assignment must be written as `{% assign name = value %}`.');
    const expr = reader.filteredValue();
    reader.expectEnd();
    if (expr.kind === 'path' && expr.fromContact) this.#contactNames.add(name);
    this.#assigned.add(name);
    return { kind: 'assign', name, expr, at: tag.at };
  }

  #capture(tag: TagLexeme): ContentNode {
    const name = this.#recover(() => {
      const reader = this.#reader(tag);
      const given = parseNewName(tag, reader);
      reader.expectEnd();
      return given;
    }, '');
    const { nodes } = this.#body(tag, ['endcapture']);
    this.#assigned.add(name);
    return { kind: 'capture', name, body: nodes, at: tag.at };
  }

  #cycle(tag: TagLexeme): ContentNode {
    const cycle = parseCycleTag(this.#reader(tag));
    const key = this.#source.slice(tag.begin, tag.end);
    return output({ kind: 'cycle', key, ...cycle }, tag.at);
  }

  #render(tag: TagLexeme): ContentNode {
    const node = parseRenderTag(tag, this.#reader(tag));
    this.#partialKeys.add(node.key);
    return node;
  }

  #unexpectedTag(tag: TagLexeme): never {
    if (tag.name === 'include' || tag.name === 'layout' || tag.name === 'block') {
      this.#fail(
        tag.at,
        `\`{% ${tag.name} %}\` is not supported. Include partials with \`{% render "key" %}\`; select a layout in the template's settings.`,
      );
    }
    if (TAGS.includes(tag.name)) {
      this.#fail(tag.at, `\`{% ${tag.name} %}\` does not belong to an open block.`);
    }
    const near = didYouMean(tag.name, TAGS);
    this.#fail(tag.at, `Unknown tag \`${tag.name}\`.${near ? ` Did you mean \`${near}\`?` : ''}`);
  }

  #condition(tag: TagLexeme): Expr {
    return this.#recover(() => this.#expression(tag), NOTHING);
  }

  /** The expression of an output, as opposed to that of a tag. */
  #outputExpression(lexeme: { begin: number; end: number; at: number }): Expr {
    const hint = outputHint(this.#source.slice(lexeme.begin, lexeme.end));
    if (hint !== undefined) this.#fail(lexeme.begin, hint);
    const expr = this.#expression(lexeme);
    const first = expr.kind === 'filtered' ? expr.initial : expr;
    if (first.kind === 'binary' && (first.operator === 'or' || first.operator === 'and')) {
      const answer = `\`${first.operator}\` returns true or false.`;
      this.#fail(
        lexeme.begin,
        `${answer} For a fallback, write \`{{ name | default: "there" }}\`.`,
      );
    }
    return expr;
  }

  #expression(lexeme: { begin: number; end: number; at: number }): Expr {
    this.#bindings.placeholderAt = lexeme.at;
    return parseFilteredValue(this.#source, lexeme.begin, lexeme.end, this.#bindings);
  }

  #reader(tag: TagLexeme): ExpressionReader {
    this.#bindings.placeholderAt = tag.at;
    return new ExpressionReader(this.#source, tag.begin, tag.end, this.#bindings);
  }

  #fail(at: number, detail: string): never {
    throw new ExpressionError(at, detail);
  }

  /**
   * Parses the arguments of a block tag, or returns a fallback if they are invalid, so that the rest of
   * the block is still parsed and all errors are reported at once.
   */
  #recover<T>(read: () => T, fallback: T): T {
    try {
      return read();
    } catch (error) {
      this.#record(error);
      return fallback;
    }
  }

  #record(error: unknown): void {
    if (!(error instanceof ExpressionError)) throw error;
    this.#errors.push(error);
    if (this.#errors.length >= ERRORS_MAX) this.#throwErrors();
  }

  #throwErrors(): void {
    const [first, ...others] = this.#errors
      .toSorted((one, other) => one.at - other.at)
      .map(({ at, message }) => ({ ...positionAt(this.#source, at), detail: message }));
    if (first) throw new ContentSyntaxError(this.#field, first, others);
  }
}

const NOTHING: Expr = { kind: 'literal', value: null };
const EMPTY_LOOP: ForTag = {
  variable: '',
  list: NOTHING,
  offset: undefined,
  limit: undefined,
  reversed: false,
};

interface Body {
  nodes: ContentNode[];
  /** The tag that ended the body; undefined at the end of the text. */
  end: TagLexeme | undefined;
}

function output(expr: Expr, at: number): ContentNode {
  const raw = expr.kind === 'filtered' && expr.filters.at(-1)?.name === 'raw';
  return { kind: 'output', expr, context: raw ? 'raw' : 'plain', escapeDashes: false, at };
}
