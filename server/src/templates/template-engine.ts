import { withDefaults } from './engine/apply-defaults.ts';
import { assignContexts } from './engine/assign-contexts.ts';
import { ContentLimitError, ContentSyntaxError } from './engine/content-errors.ts';
import type { ContentNode, RenderNode } from './engine/content-nodes.ts';
import { headerText, toStorableText } from './engine/escape.ts';
import type { SafeHtml } from './engine/filter-spec.ts';
import { parseBlocks } from './engine/parse-blocks.ts';
import type { RenderBudget } from './engine/render-budget.ts';
import { renderNodes, toLimitError } from './engine/render-nodes.ts';
import { type RenderSettings, RenderState } from './engine/render-state.ts';

/**
 * One engine for every text with placeholders: inline content, templates, sender names, header
 * values. Comes in: a field's text and the values of a send. Leaves: the finished text, and in the
 * budget every value that was missing. It promises that no value leaves its place (HTML text,
 * attribute, address, style, header line), that only own properties of the caller's values can be
 * reached, that parsing and rendering end soon whatever the text, and that renders share nothing.
 */

export { ContentLimitError, ContentSyntaxError } from './engine/content-errors.ts';
export { SafeHtml } from './engine/filter-spec.ts';
export {
  DEFAULT_RENDER_LIMITS,
  type MissingValue,
  RenderBudget,
  type RenderLimits,
  type RenderWarning,
} from './engine/render-budget.ts';

export type OutputFormat = 'html' | 'text' | 'header';

/** Values by root: the caller's variables, and `contact` and `message`. */
export type TemplateData = Readonly<Record<string, unknown>>;

/** Names that a caller's variables cannot have. */
export const RESERVED_ROOTS: readonly string[] = ['contact', 'message'];

/** A parsed field: immutable, independent of any values, fit for a cache. */
export interface ParsedContent {
  readonly source: string;
  readonly format: OutputFormat;
  readonly field: string;
  /** No placeholders: rendering gives the same text every time. */
  readonly isStatic: boolean;
  /** The first names of all paths that the values of a send have to supply. */
  readonly roots: ReadonlySet<string>;
  readonly partialKeys: ReadonlySet<string>;
  readonly nodes: readonly ContentNode[];
}

/** Whether a text that usually is none may be a template: an address with `$` in it is an address. */
export function hasPlaceholder(text: string): boolean {
  return text.includes('${') || text.includes('{{') || text.includes('{%');
}

/** Partials by key, already parsed for the place they are used in. */
export type Partials = (key: string, place: OutputFormat) => ParsedContent | undefined;

export interface RenderOptions {
  budget: RenderBudget;
  /** BCP 47; decides how money, numbers and dates look. */
  locale?: string | undefined;
  /** IANA name; UTC when absent. */
  timeZone?: string | undefined;
  /** What `"now" | date` shows; without it `now` is not a date. */
  nowMs?: number | undefined;
  /** Declared defaults by path, for values that are absent or null. */
  defaults?: Readonly<Record<string, unknown>> | undefined;
  partials?: Partials | undefined;
  /** The rendered template, for a layout's `{{ content }}`. */
  content?: SafeHtml | string | undefined;
}

const SOURCE_MAX_CHARS = 2 * 1024 * 1024;
const PARTIAL_DEPTH_MAX = 8;
const NO_NAMES: ReadonlySet<string> = new Set();

export function parseContent(source: string, format: OutputFormat, field: string): ParsedContent {
  if (!hasPlaceholder(source)) {
    const text = format === 'header' ? headerText(source) : source;
    const nodes: ContentNode[] = [{ kind: 'text', text }];
    return { source, format, field, isStatic: true, roots: NO_NAMES, partialKeys: NO_NAMES, nodes };
  }
  if (source.length > SOURCE_MAX_CHARS) {
    throw new ContentLimitError(field, `The text is longer than ${SOURCE_MAX_CHARS} characters.`);
  }
  try {
    const { nodes, roots, partialKeys } = parseBlocks(source, field);
    const withContexts = format === 'html' ? assignContexts(nodes, source, field) : nodes;
    const isStatic = withContexts.every((node) => node.kind === 'text');
    return { source, format, field, isStatic, roots, partialKeys, nodes: withContexts };
  } catch (error) {
    throw toLimitError(error, field);
  }
}

/**
 * The finished text. Missing values are pushed to `options.budget.missing` and the result is then
 * of no use; the caller renders all fields first and refuses once, with everything that is missing.
 */
export function renderContent(
  parsed: ParsedContent,
  data: TemplateData,
  options: RenderOptions,
): string {
  if (parsed.isStatic) return staticText(parsed);
  try {
    const values = options.defaults ? withDefaults(data, options.defaults) : data;
    const state = new RenderState(settingsOf(parsed, options), values, options.budget);
    if (options.content !== undefined) state.locals.set('content', options.content);
    renderNodes(parsed.nodes, state, partialRenderer(options, []));
    if (parsed.format === 'header') return headerText(state.out);
    return options.budget.outputIsStorable ? state.out : toStorableText(state.out);
  } catch (error) {
    throw toLimitError(error, parsed.field);
  }
}

function staticText(parsed: ParsedContent): string {
  const [first] = parsed.nodes;
  if (parsed.nodes.length === 1 && first?.kind === 'text') return first.text;
  return parsed.nodes.map((node) => (node.kind === 'text' ? node.text : '')).join('');
}

function settingsOf(parsed: ParsedContent, options: RenderOptions): RenderSettings {
  return {
    field: parsed.field,
    source: parsed.source,
    format: parsed.format,
    locale: options.locale ?? 'en',
    timeZone: options.timeZone ?? 'UTC',
    nowMs: options.nowMs,
  };
}

/** A partial sees the caller's values and what it is handed, never the variables around it. */
function partialRenderer(options: RenderOptions, stack: readonly string[]) {
  return (node: RenderNode, locals: Map<string, unknown>, state: RenderState): void => {
    const { field, format } = state.settings;
    const parsed = options.partials?.(node.key, format);
    if (!parsed) {
      const detail = `There is no partial \`${node.key}\`.`;
      throw new ContentSyntaxError(field, { ...state.position(node.at), detail });
    }
    if (stack.includes(node.key)) {
      const cycle = [...stack, node.key].join(' → ');
      const detail = `Partials go in a circle: ${cycle}.`;
      throw new ContentSyntaxError(field, { ...state.position(node.at), detail });
    }
    if (stack.length >= PARTIAL_DEPTH_MAX) {
      throw new ContentLimitError(
        field,
        `Partials are nested more than ${PARTIAL_DEPTH_MAX} deep.`,
      );
    }
    const inner = new RenderState(settingsOf(parsed, options), state.data, state.budget);
    for (const [name, value] of locals) inner.locals.set(name, value);
    renderNodes(parsed.nodes, inner, partialRenderer(options, [...stack, node.key]));
    state.reports += inner.reports;
    state.write(inner.out);
  };
}
