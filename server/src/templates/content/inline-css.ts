import { createRequire } from 'node:module';
import { RAW_TEXT_ELEMENTS, VOID_ELEMENTS } from '../../lib/html/elements.ts';
import { attributeOf, type HtmlScan, type HtmlTag, scanHtml } from '../../lib/html/scan.ts';
import { maskPlaceholders, type PlaceholderSpan, placeholderSpans } from '../engine/lexer.ts';

/**
 * Inlines the rules of a page's style sheets into its elements, for clients that drop `<style>`.
 * The inliner never rewrites the author's text: it works on a copy, and only the computed style
 * attributes are patched into the original, so every placeholder and every other byte survives.
 * The style sheets are kept, because `@media`, `:hover` and client-specific hacks need them.
 * Nothing is loaded from the network or from files.
 */

export interface InlinedCss {
  segments: string[];
  /** False when the page was left unchanged; `reason` says why. */
  inlined: boolean;
  reason?: 'nothing_to_inline' | 'too_complex' | 'unavailable';
}

/** The inliner is native code that overflows its stack on deep trees, which would kill the process. */
const TAGS_MAX = 10_000;
const DEPTH_MAX = 200;
const OPEN_FORMATTING_MAX = 32;
const CSS_MAX_CHARS = 256 * 1024;
const CSS_DEPTH_MAX = 16;
const WORK_MAX = 5_000_000;
const MARK = 'data-inlined-element';

/** The segments of a page, such as a template between the halves of its layout, stay separate. */
export function inlineCss(segments: readonly string[]): InlinedCss {
  const source = segments.join('');
  const unchanged = (reason: InlinedCss['reason'] & string): InlinedCss => ({
    segments: [...segments],
    inlined: false,
    reason,
  });
  if (!/<style/i.test(source)) return unchanged('nothing_to_inline');
  const spans = placeholderSpans(source, 'html');
  const scan = scanHtml(maskPlaceholders(source, spans));
  const sheets = styleSheets(source, scan, spans);
  if (sheets.css.trim() === '') return unchanged('nothing_to_inline');
  if (isTooComplex(scan, sheets.css)) return unchanged('too_complex');
  const inline = loadInliner();
  if (!inline) return unchanged('unavailable');
  const result = inline(markedCopy(scan, sheets.css), {
    loadRemoteStylesheets: false,
    keepStyleTags: false,
    keepAtRules: false,
  });
  const styles = computedStyles(result, sheets.restore);
  return { segments: patch(segments, edits(source, scan, styles)), inlined: true };
}

type Inline = (html: string, options: Record<string, boolean>) => string;
let inliner: Inline | null | undefined;

/** Loaded on first use, so that a platform without the native module can do everything else. */
function loadInliner(): Inline | null {
  if (inliner !== undefined) return inliner;
  try {
    const load = createRequire(import.meta.url);
    inliner = (load('@css-inline/css-inline') as { inline: Inline }).inline;
  } catch {
    inliner = null;
  }
  return inliner;
}

interface StyleSheets {
  css: string;
  restore(css: string): string;
}

/**
 * All style sheets combined. Each placeholder in them is replaced by an identifier, which is valid as
 * a CSS value, and restored afterwards. A sheet with tags (`{% if %}`) has no fixed meaning and is
 * skipped.
 */
function styleSheets(
  source: string,
  scan: HtmlScan,
  spans: readonly PlaceholderSpan[],
): StyleSheets {
  const placeholders = new Map<string, string>();
  const sheets: string[] = [];
  let next = 0;
  for (const { tag, start, end } of scan.rawTexts) {
    while (spans[next] !== undefined && (spans[next] as PlaceholderSpan).start < start) next += 1;
    const inside: PlaceholderSpan[] = [];
    while (spans[next] !== undefined && (spans[next] as PlaceholderSpan).end <= end) {
      inside.push(spans[next] as PlaceholderSpan);
      next += 1;
    }
    if (tag.name !== 'style' || inside.some((span) => !span.isOutput)) continue;
    let css = '';
    let position = start;
    for (const span of inside) {
      const identifier = `prplaceholder${placeholders.size}x`;
      placeholders.set(identifier, source.slice(span.start, span.end));
      css += source.slice(position, span.start) + identifier;
      position = span.end;
    }
    sheets.push(css + source.slice(position, end));
  }
  return {
    css: sheets.join('\n'),
    restore: (css) =>
      css.replace(/prplaceholder\d+x/g, (identifier) => placeholders.get(identifier) ?? identifier),
  };
}

const FORMATTING_TAGS = new Set([
  ...['a', 'b', 'big', 'code', 'em', 'font', 'i', 'nobr', 's', 'small', 'strike', 'strong'],
  ...['tt', 'u'],
]);

function isTooComplex(scan: HtmlScan, css: string): boolean {
  if (scan.tags.length > TAGS_MAX || css.length > CSS_MAX_CHARS || cssDepth(css) > CSS_DEPTH_MAX) {
    return true;
  }
  const rules = css.split('{').length - 1;
  // Sibling and structural selectors visit every neighbor of every element.
  const selectorCost = /[~+]|:has|:nth|:not|:is|:where/.test(css) ? 100 : 1;
  if (scan.tags.length * rules * selectorCost > WORK_MAX) return true;
  let depth = 0;
  let formatting = 0;
  for (const tag of scan.tags) {
    if (VOID_ELEMENTS.has(tag.name)) continue;
    const step = tag.kind === 'start' ? 1 : -1;
    depth = Math.max(0, depth + step);
    if (FORMATTING_TAGS.has(tag.name)) formatting = Math.max(0, formatting + step);
    if (depth > DEPTH_MAX || formatting > OPEN_FORMATTING_MAX) return true;
  }
  return false;
}

function cssDepth(css: string): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < css.length; i++) {
    const character = css[i];
    if (character === '{' || character === '(' || character === '[') {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (character === '}' || character === ')' || character === ']') depth -= 1;
  }
  return deepest;
}

/** A copy with only the tags and attributes that selectors can match: no text, styles or links. */
function markedCopy(scan: HtmlScan, css: string): string {
  const segments = [`<style>${css.replaceAll('</', '')}</style>`];
  for (const [index, tag] of scan.tags.entries()) {
    if (SKIPPED_TAGS.has(tag.name) || !/^[a-z][a-z0-9:-]*$/.test(tag.name)) continue;
    if (tag.kind === 'end') segments.push(`</${tag.name}>`);
    else segments.push(`<${tag.name} ${MARK}="${index}"${selectable(tag)}>`);
  }
  return segments.join('');
}

const SKIPPED_TAGS = new Set([
  ...RAW_TEXT_ELEMENTS,
  ...['link', 'meta', 'base', 'head', 'html', 'noscript', 'template', 'svg', 'math'],
]);

function selectable(tag: HtmlTag): string {
  let written = '';
  for (const { name, value } of tag.attributes) {
    if (name === 'style' || name === MARK || !/^[a-z][a-z0-9:_-]*$/.test(name)) continue;
    written += ` ${name}="${value.replaceAll('"', '&quot;')}"`;
  }
  return written;
}

/** Computed styles by tag index. */
function computedStyles(result: string, restore: (css: string) => string): Map<number, string> {
  const styles = new Map<number, string>();
  for (const tag of scanHtml(result).tags) {
    const mark = attributeOf(tag, MARK);
    const style = attributeOf(tag, 'style');
    if (mark && style && style.value !== '') styles.set(Number(mark.value), restore(style.value));
  }
  return styles;
}

interface Edit {
  at: number;
  text: string;
}

/** The element's own style must win, so the inlined declarations are inserted before it. */
function edits(source: string, scan: HtmlScan, styles: ReadonlyMap<number, string>): Edit[] {
  return scan.tags.flatMap((tag, index) => {
    const computed = styles.get(index);
    if (computed === undefined) return [];
    const inlined = computed.endsWith(';') ? computed : `${computed};`;
    const own = attributeOf(tag, 'style');
    if (!own) return [{ at: tag.start + 1 + tag.name.length, text: ` style="${inlined}"` }];
    const quote = source[own.valueStart - 1];
    if (quote !== '"' && quote !== "'") return [];
    const safe = quote === "'" ? inlined.replaceAll("'", '&#39;') : inlined;
    return [{ at: own.valueStart, text: `${safe} ` }];
  });
}

function patch(segments: readonly string[], edits: readonly Edit[]): string[] {
  let start = 0;
  let next = 0;
  return segments.map((segment) => {
    const end = start + segment.length;
    let patched = '';
    let position = start;
    for (let edit = edits[next]; edit !== undefined && edit.at < end; edit = edits[next]) {
      patched += segment.slice(position - start, edit.at - start) + edit.text;
      position = edit.at;
      next += 1;
    }
    patched += segment.slice(position - start);
    start = end;
    return patched;
  });
}
