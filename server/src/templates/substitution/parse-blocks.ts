import { closest } from './closest-name.ts';
import { ContentLimitError, ContentSyntaxError, positionAt } from './content-errors.ts';
import type { CaseBranch, ContentNode, Expr, IfBranch } from './content-nodes.ts';
import { type Lexeme, lexContent } from './lex-content.ts';
import { outputInLiquid } from './other-languages.ts';
import {
  type Bindings,
  ExpressionProblem,
  ExpressionReader,
  parseFilteredValue,
  plainPath,
} from './parse-expression.ts';
import {
  type LoopHead,
  readCycle,
  readLoop,
  readNewName,
  readRender,
  readWhenValues,
} from './tag-heads.ts';

/** A field's text as a tree, before anyone has asked where in the HTML its outputs stand. */
export interface ContentTree {
  nodes: ContentNode[];
  /** Every root that a caller or the contact record has to supply. */
  roots: Set<string>;
  partialKeys: Set<string>;
}

type TagLexeme = Extract<Lexeme, { kind: 'tag' }>;

const DEPTH_MAX = 32;
/** More than anybody mends in one go. */
const MISTAKES_MAX = 20;
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
  readonly #loops: { variable: string; ofContact: boolean }[] = [];
  readonly #contactNames = new Set<string>();
  readonly #bindings: Bindings;
  readonly #problems: ExpressionProblem[] = [];
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
    this.#refuseMistakes();
    return { nodes, roots: this.#roots, partialKeys: this.#partialKeys };
  }

  /** Nodes up to one of the tags in `ends`, which is consumed and returned. */
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
        this.#note(error);
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
        return output(plainPath(lexeme.path, this.#bindings), lexeme.at);
      case 'output':
        return output(this.#written(lexeme), lexeme.at);
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
        const name = readNewName(tag, this.#reader(tag));
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
        when.name === 'when' ? this.#head(() => readWhenValues(this.#reader(when)), []) : undefined;
      const ends = values ? ['when', 'else', 'endcase'] : ['endcase'];
      const body = this.#body(tag, ends);
      branches.push({ values, body: body.nodes });
      end = body.end;
    }
    return { kind: 'case', subject, branches, at: tag.at };
  }

  #for(tag: TagLexeme): ContentNode {
    const head = this.#head(() => readLoop(tag, this.#reader(tag)), NO_LOOP);
    const { variable, list } = head;
    const ofContact = list.kind === 'path' && list.ofContact;
    this.#loops.push({ variable, ofContact });
    const body = this.#body(tag, ['else', 'endfor']);
    this.#loops.pop();
    const otherwise = body.end?.name === 'else' ? this.#body(tag, ['endfor']).nodes : undefined;
    return { kind: 'for', ...head, body: body.nodes, otherwise, at: tag.at };
  }

  #assign(tag: TagLexeme): ContentNode {
    const reader = this.#reader(tag);
    const name = readNewName(tag, reader);
    if (!reader.accept('='))
      this.#fail(tag.at, 'An assignment is written `{% assign name = value %}`.');
    const expr = reader.filteredValue();
    reader.expectEnd();
    if (expr.kind === 'path' && expr.ofContact) this.#contactNames.add(name);
    this.#assigned.add(name);
    return { kind: 'assign', name, expr, at: tag.at };
  }

  #capture(tag: TagLexeme): ContentNode {
    const name = this.#head(() => {
      const reader = this.#reader(tag);
      const given = readNewName(tag, reader);
      reader.expectEnd();
      return given;
    }, '');
    const { nodes } = this.#body(tag, ['endcapture']);
    this.#assigned.add(name);
    return { kind: 'capture', name, body: nodes, at: tag.at };
  }

  #cycle(tag: TagLexeme): ContentNode {
    const cycle = readCycle(this.#reader(tag));
    const key = this.#source.slice(tag.begin, tag.end);
    return output({ kind: 'cycle', key, ...cycle }, tag.at);
  }

  #render(tag: TagLexeme): ContentNode {
    const node = readRender(tag, this.#reader(tag));
    this.#partialKeys.add(node.key);
    return node;
  }

  #unexpectedTag(tag: TagLexeme): never {
    if (tag.name === 'include' || tag.name === 'layout' || tag.name === 'block') {
      this.#fail(
        tag.at,
        `\`{% ${tag.name} %}\` is not supported. Partials come in with \`{% render "key" %}\`, a layout is chosen in the template's settings.`,
      );
    }
    if (TAGS.includes(tag.name)) {
      this.#fail(tag.at, `\`{% ${tag.name} %}\` has no block to belong to here.`);
    }
    const near = closest(tag.name, TAGS);
    this.#fail(
      tag.at,
      `There is no tag \`${tag.name}\`.${near ? ` Did you mean \`${near}\`?` : ''}`,
    );
  }

  #condition(tag: TagLexeme): Expr {
    return this.#head(() => this.#expression(tag), NOTHING);
  }

  /** What is written to the mail, as opposed to what a tag asks. */
  #written(lexeme: { begin: number; end: number; at: number }): Expr {
    const meant = outputInLiquid(this.#source.slice(lexeme.begin, lexeme.end));
    if (meant !== undefined) this.#fail(lexeme.begin, meant);
    const expr = this.#expression(lexeme);
    const first = expr.kind === 'filtered' ? expr.initial : expr;
    if (first.kind === 'binary' && (first.operator === 'or' || first.operator === 'and')) {
      const answer = `\`${first.operator}\` makes "true" or "false" of values.`;
      this.#fail(lexeme.begin, `${answer} For a stand-in write \`{{ name | default: "there" }}\`.`);
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
    throw new ExpressionProblem(at, detail);
  }

  /**
   * The head of a block, or a stand-in for one that is wrong: what follows up to the block's end is
   * looked through all the same, so that an author hears of all mistakes at once.
   */
  #head<T>(read: () => T, standIn: T): T {
    try {
      return read();
    } catch (error) {
      this.#note(error);
      return standIn;
    }
  }

  #note(error: unknown): void {
    if (!(error instanceof ExpressionProblem)) throw error;
    this.#problems.push(error);
    if (this.#problems.length >= MISTAKES_MAX) this.#refuseMistakes();
  }

  #refuseMistakes(): void {
    const [first, ...others] = this.#problems
      .toSorted((one, other) => one.at - other.at)
      .map(({ at, message }) => ({ ...positionAt(this.#source, at), detail: message }));
    if (first) throw new ContentSyntaxError(this.#field, first, others);
  }
}

const NOTHING: Expr = { kind: 'literal', value: null };
const NO_LOOP: LoopHead = {
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
  return { kind: 'output', expr, spot: raw ? 'raw' : 'plain', dashes: false, at };
}
