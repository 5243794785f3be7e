import { withDefaults } from './engine/apply-defaults.ts';
import { assignContexts } from './engine/assign-contexts.ts';
import { ContentLimitError, ContentSyntaxError } from './engine/content-errors.ts';
import type { ContentNode, RenderNode } from './engine/content-nodes.ts';
import { headerText, toStorableText } from './engine/escape.ts';
import { parseBlocks } from './engine/parse-blocks.ts';
import type { RenderBudget } from './engine/render-budget.ts';
import { renderNodes, toLimitError } from './engine/render-nodes.ts';
import { type RenderSettings, RenderState } from './engine/render-state.ts';
import type { SafeHtml } from './engine/values.ts';

/**
 * The engine for every text with placeholders: inline content, templates, sender names and header
 * values. Input: the text of a field and the values of a send. Output: the rendered text, and in the
 * budget every missing value. It guarantees that no value can break out of its context (HTML text,
 * attribute, URL, style, header line), that only own properties of the caller's values are
 * reachable, that parsing and rendering are bounded for any input, and that renders share no state.
 */

export { ContentLimitError, ContentSyntaxError } from './engine/content-errors.ts';
export {
  DEFAULT_RENDER_LIMITS,
  type MissingValue,
  RenderBudget,
  type RenderLimits,
  type RenderWarning,
  SharedWork,
} from './engine/render-budget.ts';
export { SafeHtml } from './engine/values.ts';

export type OutputFormat = 'html' | 'text' | 'header';

/** Values by root name: the caller's variables, plus `contact` and `message`. */
export type TemplateData = Readonly<Record<string, unknown>>;

/** Root names that a caller's variables cannot use. */
export const RESERVED_ROOTS: readonly string[] = ['contact', 'message'];

/** A parsed field: immutable, independent of any values and safe to cache. */
export interface ParsedContent {
  readonly source: string;
  readonly format: OutputFormat;
  readonly field: string;
  /** There are no placeholders, so every render returns the same text. */
  readonly isStatic: boolean;
  /** The root names of all paths that a send must supply. */
  readonly roots: ReadonlySet<string>;
  readonly partialKeys: ReadonlySet<string>;
  readonly nodes: readonly ContentNode[];
}

/** Whether a text contains template syntax. A lone `$`, as in an email address, does not count. */
export function hasPlaceholder(text: string): boolean {
  return text.includes('${') || text.includes('{{') || text.includes('{%');
}

/** Looks up a partial by key, parsed for the output format it is used in. */
export type Partials = (key: string, format: OutputFormat) => ParsedContent | undefined;

export interface RenderOptions {
  budget: RenderBudget;
  /** BCP 47 tag for formatting money, numbers and dates. */
  locale?: string | undefined;
  /** IANA time zone name; defaults to UTC. */
  timeZone?: string | undefined;
  /** The time that `"now" | date` shows; without it `now` is not a valid date. */
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
 * Renders a parsed field. Missing values are added to `options.budget.missing`, and the returned text
 * must then be discarded; callers render all fields before they report everything that is missing.
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

/** A partial sees the caller's values and its own arguments, never the surrounding local variables. */
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
      const detail = `Partials render each other in a cycle: ${cycle}.`;
      throw new ContentSyntaxError(field, { ...state.position(node.at), detail });
    }
    if (stack.length >= PARTIAL_DEPTH_MAX) {
      throw new ContentLimitError(
        field,
        `Partials are nested more than ${PARTIAL_DEPTH_MAX} levels deep.`,
      );
    }
    const inner = new RenderState(settingsOf(parsed, options), state.data, state.budget);
    for (const [name, value] of locals) inner.locals.set(name, value);
    renderNodes(parsed.nodes, inner, partialRenderer(options, [...stack, node.key]));
    state.reports += inner.reports;
    state.write(inner.out);
  };
}
