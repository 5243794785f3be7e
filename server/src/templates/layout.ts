import type { ContentNode } from './engine/content-nodes.ts';
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
} from './template-engine.ts';

/**
 * Layouts and partials. A layout is a content with `{{ content }}` in it, where the rendered
 * template goes; partials are pieces that contents, layouts and other partials render by key.
 */

/** The name under which a layout finds the template. */
const CONTENT_NAME = 'content';

/** A layout must have exactly one place for the template, outside of any tag. */
export function parseLayout(source: string, format: OutputFormat, field: string): ParsedContent {
  const parsed = parseContent(source, format, field);
  const slots = contentSlots(parsed.nodes);
  const fail = (detail: string): never => {
    throw new ContentSyntaxError(field, { line: 1, column: 1, detail });
  };
  if (slots.length === 0) fail('A layout needs `{{ content }}` where the template goes.');
  if (slots.length > 1) fail('A layout has `{{ content }}` more than once.');
  if (format === 'html' && slots[0] !== 'html-text' && slots[0] !== 'raw') {
    fail('`{{ content }}` must stand in the text of the HTML, not in a tag or style.');
  }
  return parsed;
}

/** The template inside its layout. Both see the same values; the layout also sees the template. */
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
  const visit = (content: ParsedContent, path: readonly string[]): void => {
    for (const key of content.partialKeys) {
      if (path.includes(key)) report.cycle ??= [...path.slice(path.indexOf(key)), key];
      // The same partial may differ between html and text.
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
