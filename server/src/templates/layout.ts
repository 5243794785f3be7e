import type { ContentNode } from './substitution/content-nodes.ts';
import {
  ContentSyntaxError,
  type ParsedContent,
  type Partials,
  type Place,
  parseContent,
  type RenderOptions,
  renderContent,
  SafeHtml,
  type Scope,
} from './substitution.ts';

/**
 * Layouts and partials. A layout is a content with `{{ content }}` in it, where the rendered
 * template goes; partials are pieces that contents, layouts and other partials render by key.
 */

/** The name under which a layout finds the template. */
const CONTENT = 'content';

/** A layout must have exactly one place for the template, outside of any tag. */
export function parseLayout(source: string, place: Place, field: string): ParsedContent {
  const parsed = parseContent(source, place, field);
  const places = contentPlaces(parsed.nodes);
  const fail = (detail: string): never => {
    throw new ContentSyntaxError(field, { line: 1, column: 1, detail });
  };
  if (places.length === 0) fail('A layout needs `{{ content }}` where the template goes.');
  if (places.length > 1) fail('A layout has `{{ content }}` more than once.');
  if (place === 'html' && places[0] !== 'html-text' && places[0] !== 'raw') {
    fail('`{{ content }}` must stand in the text of the HTML, not in a tag or style.');
  }
  return parsed;
}

/** The template inside its layout. Both see the same values; the layout also sees the template. */
export function renderInLayout(
  body: ParsedContent,
  layout: ParsedContent | undefined,
  scope: Scope,
  options: RenderOptions,
): string {
  const inner = renderContent(body, scope, options);
  if (!layout) return inner;
  const content = body.place === 'html' ? new SafeHtml(inner) : inner;
  return renderContent(layout, scope, { ...options, content });
}

export interface PartialReport {
  /** Every partial that is reached, directly or through others. */
  keys: string[];
  missing: string[];
  /** The way of a circle, first key again at the end. */
  cycle: string[] | undefined;
}

/** Follows partials from the given contents on. Each partial is looked at once. */
export function followPartials(
  contents: readonly ParsedContent[],
  partials: Partials,
): PartialReport {
  const report: PartialReport = { keys: [], missing: [], cycle: undefined };
  const done = new Set<string>();
  const visit = (content: ParsedContent, way: readonly string[]): void => {
    for (const key of content.partialKeys) {
      if (way.includes(key)) report.cycle ??= [...way.slice(way.indexOf(key)), key];
      // The same partial may differ between html and text.
      const seen = `${content.place} ${key}`;
      if (done.has(seen)) continue;
      done.add(seen);
      const partial = partials(key, content.place);
      const list = partial ? report.keys : report.missing;
      if (!list.includes(key)) list.push(key);
      if (partial) visit(partial, [...way, key]);
    }
  };
  for (const content of contents) visit(content, []);
  return report;
}

function contentPlaces(nodes: readonly ContentNode[]): string[] {
  const places: string[] = [];
  for (const node of nodes) {
    if (node.kind === 'output') {
      const path = node.expr.kind === 'filtered' ? node.expr.initial : node.expr;
      if (path.kind === 'path' && path.root === CONTENT && path.frame === -1)
        places.push(node.spot);
    } else if (node.kind === 'if' || node.kind === 'case') {
      for (const branch of node.branches) places.push(...contentPlaces(branch.body));
    } else if (node.kind === 'for') {
      places.push(...contentPlaces(node.body), ...contentPlaces(node.otherwise ?? []));
    } else if (node.kind === 'capture') places.push(...contentPlaces(node.body));
  }
  return places;
}
