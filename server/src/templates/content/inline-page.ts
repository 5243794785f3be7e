import { scanHtml } from '../../lib/html/scan.ts';
import { maskPlaceholders, placeholderSpans } from '../engine/lexer.ts';
import { ContentLimitError } from '../template-engine.ts';
import { inlineCss } from './inline-css.ts';

/**
 * Inlines CSS in a page made of several sources: a template, the layout around it and the partials
 * inside it. Style sheets from any of them apply to the elements of all of them, as in a browser,
 * while each source stays separate. A partial is processed without its surroundings, so only
 * selectors that do not depend on ancestors match inside it.
 */
export interface InlinedPage {
  body: string;
  layout: string | undefined;
  partial(source: string): string;
}

export function inlinePage(
  body: string,
  layout: string | undefined,
  partials: readonly string[],
): InlinedPage {
  try {
    return inlineParts(body, layout, partials);
  } catch (error) {
    // Each source is within the limits but together they are not: the page is sent without inlining.
    if (!(error instanceof ContentLimitError)) throw error;
    return { body, layout, partial: (source) => source };
  }
}

function inlineParts(
  body: string,
  layout: string | undefined,
  partials: readonly string[],
): InlinedPage {
  const shared = partials.map(styleElements).join('');
  const slot = layout === undefined ? undefined : contentSlot(layout);
  const [, before = '', inner = body, after = ''] = inlineCss([
    shared,
    layout?.slice(0, slot?.start) ?? '',
    body,
    slot === undefined ? '' : (layout?.slice(slot.end) ?? ''),
  ]).segments;
  const sheets = shared + styleElements(layout ?? '') + styleElements(body);
  return {
    body: inner,
    layout:
      layout === undefined || slot === undefined
        ? layout
        : before + layout.slice(slot.start, slot.end) + after,
    partial: (source) =>
      sheets === '' ? source : (inlineCss([sheets, source]).segments[1] ?? source),
  };
}

/** Where a layout has `{{ content }}`; parsing has ensured that it exists. */
export function contentSlot(layout: string): { start: number; end: number } | undefined {
  return placeholderSpans(layout, 'html').find(
    ({ start, end, isOutput }) =>
      isOutput && /^(?:\{\{-?|\$\{)\s*content(?![\w-])/.test(layout.slice(start, end)),
  );
}

function styleElements(source: string): string {
  if (!/<style/i.test(source)) return '';
  const masked = maskPlaceholders(source, placeholderSpans(source, 'html'));
  return scanHtml(masked)
    .rawTexts.filter(({ tag }) => tag.name === 'style')
    .map(({ start, end }) => `<style>${source.slice(start, end)}</style>`)
    .join('');
}
