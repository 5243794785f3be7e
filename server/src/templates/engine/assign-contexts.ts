import { ContentSyntaxError, positionAt } from './content-errors.ts';
import type { ContentNode, OutputNode } from './content-nodes.ts';
import { HtmlContext, type HtmlEdit } from './html-context.ts';

/**
 * Assigns every output of an HTML field its context. Branches must end in the context they started in
 * or in the same context as each other, so that each output has one context regardless of the values
 * (the rule of Go's html/template). Returns a new tree in which literal text is split at the start and
 * end of URL attributes.
 */
export function assignContexts(nodes: ContentNode[], source: string, field: string): ContentNode[] {
  const assigner = new ContextAssigner(source, field);
  const context = new HtmlContext();
  return assigner.assign(nodes, context);
}

class ContextAssigner {
  readonly #source: string;
  readonly #field: string;
  /** The context at the start of each enclosing loop, which break and continue return to. */
  readonly #loopStarts: HtmlContext[] = [];

  constructor(source: string, field: string) {
    this.#source = source;
    this.#field = field;
  }

  assign(nodes: ContentNode[], context: HtmlContext): ContentNode[] {
    const result: ContentNode[] = [];
    let lastAt = 0;
    for (const node of nodes) {
      if (node.kind === 'text') {
        const edits = context.advance(node.text);
        if (context.error !== undefined) this.#fail(lastAt, context.error);
        if (edits.length === 0) result.push(node);
        else pushEdited(result, node.text, edits, lastAt);
        continue;
      }
      if (node.kind === 'url-open' || node.kind === 'url-close') continue;
      lastAt = node.at;
      // A value in a comment is surrounded by spaces, so it cannot join with adjacent text.
      const isIsolated = node.kind === 'output' && context.inComment;
      if (context.joinHazard !== undefined && !isIsolated) this.#fail(node.at, context.joinHazard);
      this.#assignNode(node, context, result);
    }
    return result;
  }

  #assignNode(
    node: Exclude<ContentNode, { kind: 'text' | 'url-open' | 'url-close' }>,
    context: HtmlContext,
    result: ContentNode[],
  ): void {
    switch (node.kind) {
      case 'output':
        this.#assignOutput(node, context, result);
        return;
      case 'if': {
        const bodies = this.#branches(
          node,
          node.branches,
          context,
          (b) => b.condition === undefined,
        );
        const branches = node.branches.map((branch, i) => ({ ...branch, body: bodies[i] ?? [] }));
        result.push({ ...node, branches });
        return;
      }
      case 'case': {
        const bodies = this.#branches(node, node.branches, context, (b) => b.values === undefined);
        const branches = node.branches.map((branch, i) => ({ ...branch, body: bodies[i] ?? [] }));
        result.push({ ...node, branches });
        return;
      }
      case 'for': {
        const parts = node.elseBody ? [node.body, node.elseBody] : [node.body];
        this.#loopStarts.push(context.clone());
        const [body = [], elseBody] = this.#branches(
          node,
          parts.map((part) => ({ body: part })),
          context,
          () => false,
        );
        this.#loopStarts.pop();
        result.push({ ...node, body, elseBody });
        return;
      }
      case 'break':
      case 'continue': {
        const start = this.#loopStarts.at(-1);
        if (start && !start.clone().join(context)) {
          this.#fail(node.at, `\`{% ${node.kind} %}\` would leave a tag or attribute open.`);
        }
        result.push(node);
        return;
      }
      case 'capture': {
        const inner = new HtmlContext();
        const body = this.assign(node.body, inner);
        if (!inner.inText) this.#fail(node.at, 'The captured text ends inside a tag.');
        result.push({ ...node, body });
        return;
      }
      case 'render':
        if (!context.inText) this.#fail(node.at, 'A partial cannot be inside a tag.');
        result.push(node);
        return;
      default:
        result.push(node);
    }
  }

  #assignOutput(node: OutputNode, context: HtmlContext, result: ContentNode[]): void {
    const outputContext = context.outputContext();
    const quote = context.addQuote();
    if (quote.added) result.push({ kind: 'text', text: '"' });
    if (quote.url) result.push({ kind: 'url-open' });
    const escapeDashes = context.inConditionalComment;
    if (node.context === 'raw') result.push({ ...node, escapeDashes: false });
    else if (outputContext === 'url-parameter' && isUrlEncoded(node)) {
      result.push({ ...node, context: 'attribute', escapeDashes });
    } else if (typeof outputContext === 'string')
      result.push({ ...node, context: outputContext, escapeDashes });
    else this.#fail(node.at, outputContext.problem);
  }

  /** Processes each body from the same starting context. Leaves `context` where all of them end. */
  #branches<B extends { body: ContentNode[] }>(
    node: { at: number },
    branches: readonly B[],
    context: HtmlContext,
    isElse: (branch: B) => boolean,
  ): ContentNode[][] {
    const start = context.clone();
    const bodies: ContentNode[][] = [];
    let joined = branches.some(isElse) ? undefined : start.clone();
    for (const branch of branches) {
      const own = start.clone();
      bodies.push(this.assign(branch.body, own));
      if (joined === undefined) joined = own;
      else if (!joined.join(own)) {
        this.#fail(
          node.at,
          'The branches end in different HTML contexts (one inside a tag or attribute, one not), so the text after them would be ambiguous.',
        );
      }
    }
    context.copyFrom(joined ?? start);
    return bodies;
  }

  #fail(at: number, detail: string): never {
    throw new ContentSyntaxError(this.#field, { ...positionAt(this.#source, at), detail });
  }
}

const URL_FILTERS: readonly string[] = ['url_encode', 'cgi_escape', 'uri_escape'];

/** The author has already encoded the value as a URL parameter. */
function isUrlEncoded({ expr }: OutputNode): boolean {
  return expr.kind === 'filtered' && URL_FILTERS.includes(expr.filters.at(-1)?.name ?? '');
}

function pushEdited(
  result: ContentNode[],
  text: string,
  edits: readonly HtmlEdit[],
  at: number,
): void {
  let from = 0;
  for (const edit of edits) {
    if (edit.offset > from) result.push({ kind: 'text', text: text.slice(from, edit.offset) });
    from = edit.offset;
    if (edit.kind === 'url-open') result.push({ kind: 'url-open' });
    else if (edit.kind === 'url-close') result.push({ kind: 'url-close', check: edit.check, at });
    else result.push({ kind: 'text', text: '"' });
  }
  if (from < text.length) result.push({ kind: 'text', text: text.slice(from) });
}
