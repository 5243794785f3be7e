import { ContentSyntaxError, positionAt } from './content-errors.ts';
import type { ContentNode, OutputNode } from './content-nodes.ts';
import { type Cut, HtmlContext } from './html-context.ts';

/**
 * Gives every output of an HTML field its spot. Branches must end where they began or where each
 * other ends, so that each output has one spot whatever values decide the way (the rule of Go's
 * html/template). Returns a new tree: literal text is cut where a URL attribute begins and ends.
 */
export function placeOutputs(nodes: ContentNode[], source: string, field: string): ContentNode[] {
  const placer = new Placer(source, field);
  const context = new HtmlContext();
  return placer.place(nodes, context);
}

class Placer {
  readonly #source: string;
  readonly #field: string;
  /** The context at the start of each enclosing loop: where break and continue lead. */
  readonly #loopStarts: HtmlContext[] = [];

  constructor(source: string, field: string) {
    this.#source = source;
    this.#field = field;
  }

  place(nodes: ContentNode[], context: HtmlContext): ContentNode[] {
    const placed: ContentNode[] = [];
    let lastAt = 0;
    for (const node of nodes) {
      if (node.kind === 'text') {
        const cuts = context.advance(node.text);
        if (context.fault !== undefined) this.#fail(lastAt, context.fault);
        if (cuts.length === 0) placed.push(node);
        else pushCut(placed, node.text, cuts, lastAt);
        continue;
      }
      if (node.kind === 'url-open' || node.kind === 'url-close') continue;
      lastAt = node.at;
      // A value in a comment is written with blanks around it and joins nothing.
      const apart = node.kind === 'output' && context.inComment;
      if (context.seam !== undefined && !apart) this.#fail(node.at, context.seam);
      this.#placeNode(node, context, placed);
    }
    return placed;
  }

  #placeNode(
    node: Exclude<ContentNode, { kind: 'text' | 'url-open' | 'url-close' }>,
    context: HtmlContext,
    placed: ContentNode[],
  ): void {
    switch (node.kind) {
      case 'output':
        this.#placeOutput(node, context, placed);
        return;
      case 'if': {
        const bodies = this.#branches(
          node,
          node.branches,
          context,
          (b) => b.condition === undefined,
        );
        const branches = node.branches.map((branch, i) => ({ ...branch, body: bodies[i] ?? [] }));
        placed.push({ ...node, branches });
        return;
      }
      case 'case': {
        const bodies = this.#branches(node, node.branches, context, (b) => b.values === undefined);
        const branches = node.branches.map((branch, i) => ({ ...branch, body: bodies[i] ?? [] }));
        placed.push({ ...node, branches });
        return;
      }
      case 'for': {
        const parts = node.otherwise ? [node.body, node.otherwise] : [node.body];
        this.#loopStarts.push(context.clone());
        const [body = [], otherwise] = this.#branches(
          node,
          parts.map((part) => ({ body: part })),
          context,
          () => false,
        );
        this.#loopStarts.pop();
        placed.push({ ...node, body, otherwise });
        return;
      }
      case 'break':
      case 'continue': {
        const start = this.#loopStarts.at(-1);
        if (start && !start.clone().join(context)) {
          this.#fail(node.at, `\`{% ${node.kind} %}\` would leave a tag or attribute open.`);
        }
        placed.push(node);
        return;
      }
      case 'capture': {
        const inner = new HtmlContext();
        const body = this.place(node.body, inner);
        if (!inner.inText) this.#fail(node.at, 'The captured piece ends inside a tag.');
        placed.push({ ...node, body });
        return;
      }
      case 'render':
        if (!context.inText) this.#fail(node.at, 'A partial cannot stand inside a tag.');
        placed.push(node);
        return;
      default:
        placed.push(node);
    }
  }

  #placeOutput(node: OutputNode, context: HtmlContext, placed: ContentNode[]): void {
    const spot = context.spot();
    const quote = context.addQuote();
    if (quote.added) placed.push({ kind: 'text', text: '"' });
    if (quote.url) placed.push({ kind: 'url-open' });
    const dashes = context.inConditionalComment;
    if (node.spot === 'raw') placed.push({ ...node, dashes: false });
    else if (spot === 'url-parameter' && isEncoded(node)) {
      placed.push({ ...node, spot: 'attribute', dashes });
    } else if (typeof spot === 'string') placed.push({ ...node, spot, dashes });
    else this.#fail(node.at, spot.problem);
  }

  /** Places each body from the same start. Leaves `context` where all of them end. */
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
      bodies.push(this.place(branch.body, own));
      if (joined === undefined) joined = own;
      else if (!joined.join(own)) {
        this.#fail(
          node.at,
          'The branches end in different places of the HTML (one inside a tag or attribute, one not), so what follows would mean different things.',
        );
      }
    }
    context.become(joined ?? start);
    return bodies;
  }

  #fail(at: number, detail: string): never {
    throw new ContentSyntaxError(this.#field, { ...positionAt(this.#source, at), detail });
  }
}

const URL_FILTERS: readonly string[] = ['url_encode', 'cgi_escape', 'uri_escape'];

/** The author has made a parameter of it already. */
function isEncoded({ expr }: OutputNode): boolean {
  return expr.kind === 'filtered' && URL_FILTERS.includes(expr.filters.at(-1)?.name ?? '');
}

function pushCut(placed: ContentNode[], text: string, cuts: readonly Cut[], at: number): void {
  let from = 0;
  for (const cut of cuts) {
    if (cut.offset > from) placed.push({ kind: 'text', text: text.slice(from, cut.offset) });
    from = cut.offset;
    if (cut.kind === 'url-open') placed.push({ kind: 'url-open' });
    else if (cut.kind === 'url-close') placed.push({ kind: 'url-close', check: cut.check, at });
    else placed.push({ kind: 'text', text: '"' });
  }
  if (from < text.length) placed.push({ kind: 'text', text: text.slice(from) });
}
