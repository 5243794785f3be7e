import { scanHtml, withoutPlaceholders } from './html-tags.ts';
import { inlineCssInPieces } from './inline-css.ts';
import { placeholderSpans } from './substitution/lex-content.ts';
import { ContentLimitError } from './substitution.ts';

/**
 * The CSS of a page that several authors wrote: a template, the layout around it and the partials
 * inside. The style sheets of all of them reach the elements of all of them, as they would in a
 * browser, and yet each text stays one of its own. A partial is seen without what stands around it,
 * so that only selectors that need no ancestor reach into it.
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
    return inlined(body, layout, partials);
  } catch (error) {
    // Each text is within the limits, together they are not: the page goes out as it was written.
    if (!(error instanceof ContentLimitError)) throw error;
    return { body, layout, partial: (source) => source };
  }
}

function inlined(
  body: string,
  layout: string | undefined,
  partials: readonly string[],
): InlinedPage {
  const shared = partials.map(styleElements).join('');
  const place = layout === undefined ? undefined : contentPlace(layout);
  const [, before = '', inner = body, after = ''] = inlineCssInPieces([
    shared,
    layout?.slice(0, place?.begin) ?? '',
    body,
    place === undefined ? '' : (layout?.slice(place.end) ?? ''),
  ]).pieces;
  const sheets = shared + styleElements(layout ?? '') + styleElements(body);
  return {
    body: inner,
    layout:
      layout === undefined || place === undefined
        ? layout
        : before + layout.slice(place.begin, place.end) + after,
    partial: (source) =>
      sheets === '' ? source : (inlineCssInPieces([sheets, source]).pieces[1] ?? source),
  };
}

/** Where a layout has `{{ content }}`; parsing has made sure that there is one. */
export function contentPlace(layout: string): { begin: number; end: number } | undefined {
  return placeholderSpans(layout, 'html').find(
    ({ begin, end, writes }) =>
      writes && /^(?:\{\{-?|\$\{)\s*content(?![\w-])/.test(layout.slice(begin, end)),
  );
}

function styleElements(source: string): string {
  if (!/<style/i.test(source)) return '';
  const plain = withoutPlaceholders(source, placeholderSpans(source, 'html'));
  return scanHtml(plain)
    .rawTexts.filter(({ tag }) => tag.name === 'style')
    .map(({ begin, end }) => `<style>${source.slice(begin, end)}</style>`)
    .join('');
}
