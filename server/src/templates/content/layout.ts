import type { ContentNode } from '../engine/content-nodes.ts';
import {
  ContentSyntaxError,
  type OutputFormat,
  type ParsedContent,
  type Partials,
  parseContent,
  type RenderOptions,
  renderContent,
  SafeHtml,
  type TemplateData,
} from '../template-engine.ts';

/**
 * Layouts and partials. A layout contains `{{ content }}`, where the rendered template is inserted.
 * Partials are fragments that templates, layouts and other partials render by key.
 */

/** The variable through which a layout receives the rendered template. */
const CONTENT_NAME = 'content';

/** A layout must have exactly one `{{ content }}`, outside any tag. */
export function parseLayout(source: string, format: OutputFormat, field: string): ParsedContent {
  const parsed = parseContent(source, format, field);
  const slots = contentSlots(parsed.nodes);
  const fail = (detail: string): never => {
    throw new ContentSyntaxError(field, { line: 1, column: 1, detail });
  };
  if (slots.length === 0)
    fail('A layout must contain `{{ content }}` where the template is inserted.');
  if (slots.length > 1) fail('A layout must contain `{{ content }}` only once.');
  if (format === 'html' && slots[0] !== 'html-text' && slots[0] !== 'raw') {
    fail('`{{ content }}` must be in the text of the HTML, not in a tag or style.');
  }
  return parsed;
}

/** Renders the template inside its layout. Both receive the same values; the layout also receives the template. */
export function renderInLayout(
  body: ParsedContent,
  layout: ParsedContent | undefined,
  data: TemplateData,
  options: RenderOptions,
): string {
  const inner = renderContent(body, data, options);
  if (!layout) return inner;
  const content = body.format === 'html' ? new SafeHtml(inner) : inner;
  return renderContent(layout, data, { ...options, content });
}

export interface PartialGraph {
  /** Every partial reached, directly or indirectly. */
  keys: string[];
  missing: string[];
  /** The keys along a cycle, with the first key repeated at the end. */
  cycle: string[] | undefined;
}

/** Follows partials from the given contents. Each partial is visited once. */
export function followPartials(
  contents: readonly ParsedContent[],
  partials: Partials,
): PartialGraph {
  const report: PartialGraph = { keys: [], missing: [], cycle: undefined };
  const done = new Set<string>();
  const visit = (content: ParsedContent, path: readonly string[]): void => {
    for (const key of content.partialKeys) {
      if (path.includes(key)) report.cycle ??= [...path.slice(path.indexOf(key)), key];
      // A partial can have different content for html and text.
      const seen = `${content.format} ${key}`;
      if (done.has(seen)) continue;
      done.add(seen);
      const partial = partials(key, content.format);
      const list = partial ? report.keys : report.missing;
      if (!list.includes(key)) list.push(key);
      if (partial) visit(partial, [...path, key]);
    }
  };
  for (const content of contents) visit(content, []);
  return report;
}

function contentSlots(nodes: readonly ContentNode[]): string[] {
  const slots: string[] = [];
  for (const node of nodes) {
    if (node.kind === 'output') {
      const path = node.expr.kind === 'filtered' ? node.expr.initial : node.expr;
      if (path.kind === 'path' && path.root === CONTENT_NAME && path.frame === -1)
        slots.push(node.context);
    } else if (node.kind === 'if' || node.kind === 'case') {
      for (const branch of node.branches) slots.push(...contentSlots(branch.body));
    } else if (node.kind === 'for') {
      slots.push(...contentSlots(node.body), ...contentSlots(node.elseBody ?? []));
    } else if (node.kind === 'capture') slots.push(...contentSlots(node.body));
  }
  return slots;
}
