import { VOID_ELEMENTS } from '../../lib/html/elements.ts';
import { attributeOf, type HtmlTag } from '../../lib/html/scan.ts';
import { htmlToText } from '../../mail/html/html-to-text.ts';
import { HtmlPage } from '../content/html-page.ts';
import { placeholderSpans } from '../engine/lexer.ts';
import type { ParsedContent } from '../template-engine.ts';
import { checkCss } from './check-css.ts';
import type { TemplateFinding } from './template-finding.ts';

/** Lints an HTML field: unclosed tags, images, links, unsupported elements and CSS, size and preheader. */

/** Gmail clips messages beyond this size. */
const CLIPPED_BYTES = 102 * 1024;

export interface HtmlCheckOptions {
  /** The content is a layout or partial, so checks that only apply to whole documents are skipped. */
  fragment: boolean;
  hasText: boolean;
}

export function checkHtml(
  parsed: ParsedContent,
  options: HtmlCheckOptions,
  findings: TemplateFinding[],
): void {
  const { source, field } = parsed;
  const spans = placeholderSpans(source, field);
  const page = new HtmlPage(source, field, spans, findings);
  checkClosed(page);
  for (const tag of page.scan.tags) {
    if (tag.kind === 'start') checkTag(page, tag);
  }
  checkCss(page);
  if (options.fragment) return;
  if (!options.hasText && htmlToText(source) === '') {
    page.report(
      'warning',
      'text_missing',
      0,
      'The HTML contains no text to generate a text part from. Add a text part.',
    );
  }
  const bytes = Buffer.byteLength(source);
  if (bytes > CLIPPED_BYTES) {
    page.report(
      'warning',
      'too_large',
      0,
      `The HTML is ${Math.ceil(bytes / 1024)} KB. Gmail clips messages larger than 102 KB.`,
    );
  }
  if (!hasPreheader(page)) {
    page.report(
      'warning',
      'preheader_missing',
      0,
      'There is no preheader, so inboxes will preview the first text of the message. Add a hidden element with the preview text at the start of the body.',
    );
  }
}

/** Elements whose end tag is optional in HTML. */
const OPTIONAL_END_TAGS = new Set([
  ...['html', 'head', 'body', 'p', 'li', 'dt', 'dd', 'tr', 'td', 'th', 'thead', 'tbody', 'tfoot'],
  ...['colgroup', 'option', 'optgroup', 'rp', 'rt', 'plaintext'],
]);

function checkClosed(page: HtmlPage): void {
  if (page.scan.unclosedAt !== undefined) {
    const at = page.scan.unclosedAt;
    page.report('error', 'unclosed_tag', at, 'The HTML ends inside this tag or comment.');
  }
  // With branches a tag can be opened twice and closed once, so the result is only certain without them.
  const branched = page.spans.some((span) => !span.isOutput && page.source[span.start] === '{');
  const severity = branched ? 'warning' : 'error';
  const open: HtmlTag[] = [];
  const openByName = new Map<string, number>();
  for (const tag of page.scan.tags) {
    if (VOID_ELEMENTS.has(tag.name) || isSelfClosed(page, tag)) continue;
    const count = openByName.get(tag.name) ?? 0;
    if (tag.kind === 'start') {
      open.push(tag);
      openByName.set(tag.name, count + 1);
    } else if (count === 0) {
      if (tag.name !== 'p') {
        page.report(
          severity,
          'unclosed_tag',
          tag.start,
          `\`</${tag.name}>\` has no matching start tag.`,
        );
      }
    } else closeUpTo(page, tag.name, open, openByName, severity);
  }
  for (const tag of open) reportUnclosed(page, tag, severity);
}

function closeUpTo(
  page: HtmlPage,
  name: string,
  open: HtmlTag[],
  openByName: Map<string, number>,
  severity: TemplateFinding['severity'],
): void {
  for (;;) {
    const top = open.pop();
    if (!top) return;
    openByName.set(top.name, (openByName.get(top.name) ?? 1) - 1);
    if (top.name === name) return;
    reportUnclosed(page, top, severity);
  }
}

function reportUnclosed(page: HtmlPage, tag: HtmlTag, severity: TemplateFinding['severity']): void {
  if (OPTIONAL_END_TAGS.has(tag.name)) return;
  page.report(severity, 'unclosed_tag', tag.start, `\`<${tag.name}>\` is not closed.`);
}

/** Only foreign elements (VML, SVG, Office) may be self-closing. */
function isSelfClosed(page: HtmlPage, tag: HtmlTag): boolean {
  return page.masked[tag.end - 2] === '/' && (tag.name.includes(':') || SVG_TAGS.has(tag.name));
}

const SVG_TAGS = new Set([
  'path',
  'circle',
  'rect',
  'line',
  'polygon',
  'polyline',
  'ellipse',
  'use',
]);

function checkTag(page: HtmlPage, tag: HtmlTag): void {
  if (tag.name === 'img') checkImage(page, tag);
  if (tag.name === 'a' || tag.name === 'area') checkLink(page, tag);
  if (tag.name === 'script' && !/json/i.test(attributeOf(tag, 'type')?.value ?? '')) {
    page.report('warning', 'script', tag.start, 'Email clients remove scripts.');
  }
  if (tag.name === 'form' || tag.name === 'iframe' || tag.name === 'video') {
    page.report(
      'warning',
      'unsupported_element',
      tag.start,
      `Most email clients remove \`<${tag.name}>\`.`,
    );
  }
}

function checkImage(page: HtmlPage, tag: HtmlTag): void {
  if (!attributeOf(tag, 'alt')) {
    page.report(
      'warning',
      'image_without_alt',
      tag.start,
      'The image has no `alt` text, which many clients show until images are allowed. Use `alt=""` for decorative images.',
    );
  }
  const src = attributeOf(tag, 'src');
  const address = src ? page.sourceText(src.valueStart, src.value.length).trim() : '';
  if (address === '') {
    page.report('warning', 'image_not_https', tag.start, 'The image has no `src`.');
  } else if (!startsWithPlaceholder(address) && !/^(?:https:|cid:|data:image\/)/i.test(address)) {
    page.report(
      'warning',
      'image_not_https',
      src?.start ?? tag.start,
      'The image URL is not https.',
    );
  }
}

function checkLink(page: HtmlPage, tag: HtmlTag): void {
  const href = attributeOf(tag, 'href');
  if (!href) return;
  const address = page.sourceText(href.valueStart, href.value.length).trim();
  if (startsWithPlaceholder(address) || /^#./.test(address)) return;
  if (/^[a-z][a-z0-9+.-]*:/i.test(address)) return;
  page.report(
    'warning',
    'link_not_absolute',
    href.start,
    address === '' || address === '#'
      ? 'The link has no target.'
      : 'The link is relative. Links in email must be absolute URLs.',
  );
}

function startsWithPlaceholder(text: string): boolean {
  return text.startsWith('{{') || text.startsWith('{%') || text.startsWith('${');
}

const PREHEADER_TAGS_MAX = 30;

/** A hidden element near the start of the body, which is how email builders write a preheader. */
function hasPreheader(page: HtmlPage): boolean {
  const body = page.scan.tags.findIndex((tag) => tag.name === 'body' && tag.kind === 'start');
  const first = page.scan.tags.slice(body + 1, body + 1 + PREHEADER_TAGS_MAX);
  return first.some((tag) => {
    if (tag.kind === 'end') return false;
    const names = `${attributeOf(tag, 'class')?.value ?? ''} ${attributeOf(tag, 'id')?.value ?? ''}`;
    if (/pre-?header|preview/i.test(names)) return true;
    return /display\s*:\s*none|max-height\s*:\s*0|mso-hide\s*:\s*all/i.test(
      attributeOf(tag, 'style')?.value ?? '',
    );
  });
}
