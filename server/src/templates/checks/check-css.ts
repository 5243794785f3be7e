import { attributeOf } from '../../lib/html/scan.ts';
import type { HtmlPage } from '../content/html-page.ts';

/** Warns, once per feature, about CSS that major email clients do not support. */

interface UnsupportedFeature {
  feature: string;
  /** Tests a property's name and value, or the name of an at-rule. */
  matches(property: string, value: string): boolean;
  clients: string;
}

const OUTLOOK = 'Outlook for Windows';
const is =
  (...names: string[]) =>
  (property: string) =>
    names.includes(property);
const value = (name: string, pattern: RegExp) => (property: string, text: string) =>
  property === name && pattern.test(text);

const UNSUPPORTED: readonly UnsupportedFeature[] = [
  { feature: 'display: flex', matches: value('display', /^(?:inline-)?flex/), clients: OUTLOOK },
  {
    feature: 'display: grid',
    matches: value('display', /^(?:inline-)?grid/),
    clients: `${OUTLOOK} and Gmail`,
  },
  {
    feature: 'position',
    matches: value('position', /^(?:absolute|fixed|sticky)/),
    clients: `${OUTLOOK} and Gmail`,
  },
  {
    feature: 'CSS variables',
    matches: (name, text) => name.startsWith('--') || text.includes('var('),
    clients: `${OUTLOOK}, Gmail and Yahoo`,
  },
  { feature: 'calc()', matches: (_, text) => text.includes('calc('), clients: OUTLOOK },
  { feature: 'transform', matches: is('transform'), clients: `${OUTLOOK} and Gmail` },
  {
    feature: 'animation',
    matches: is('animation', 'animation-name', 'transition'),
    clients: `${OUTLOOK} and Gmail`,
  },
  { feature: 'box-shadow', matches: is('box-shadow', 'text-shadow'), clients: OUTLOOK },
  { feature: 'opacity', matches: is('opacity'), clients: OUTLOOK },
  {
    feature: 'background images',
    matches: (name, text) => name.startsWith('background') && text.includes('url('),
    clients: OUTLOOK,
  },
  {
    feature: 'filter',
    matches: is('filter', 'backdrop-filter', 'mix-blend-mode'),
    clients: `${OUTLOOK} and Gmail`,
  },
  {
    feature: 'clip-path',
    matches: is('clip-path', 'mask', 'mask-image'),
    clients: `${OUTLOOK} and Gmail`,
  },
  { feature: 'object-fit', matches: is('object-fit'), clients: OUTLOOK },
  { feature: 'gap', matches: is('gap', 'row-gap', 'column-gap'), clients: `${OUTLOOK} and Gmail` },
  { feature: 'float', matches: is('float'), clients: OUTLOOK },
  { feature: '@import', matches: is('@import'), clients: 'Gmail, Outlook and Yahoo' },
  { feature: '@font-face', matches: is('@font-face'), clients: `Gmail and ${OUTLOOK}` },
  {
    feature: '@supports',
    matches: is('@supports', '@layer', '@container'),
    clients: `Gmail and ${OUTLOOK}`,
  },
];

export function checkCss(page: HtmlPage): void {
  const reported = new Set<string>();
  for (const { tag, start, end } of page.scan.rawTexts) {
    if (tag.name === 'style')
      checkDeclarations(page, start, page.masked.slice(start, end), reported);
  }
  for (const tag of page.scan.tags) {
    const style = tag.kind === 'start' ? attributeOf(tag, 'style') : undefined;
    if (style) checkDeclarations(page, style.valueStart, style.value, reported);
    const link = tag.name === 'link' && /stylesheet/i.test(attributeOf(tag, 'rel')?.value ?? '');
    if (link && !reported.has('link')) {
      reported.add('link');
      page.report(
        'warning',
        'unsupported_css',
        tag.start,
        'Most email clients do not load linked style sheets.',
      );
    }
  }
}

/** Splits at `;`, `{` and `}`: each statement is a declaration, a selector or an at-rule. */
function checkDeclarations(
  page: HtmlPage,
  offset: number,
  css: string,
  reported: Set<string>,
): void {
  let start = 0;
  for (let i = 0; i <= css.length; i++) {
    const code = css.charCodeAt(i);
    if (i < css.length && code !== 0x3b && code !== 0x7b && code !== 0x7d) continue;
    checkStatement(page, offset + start, css.slice(start, i), code === 0x7b, reported);
    if (reported.size >= UNSUPPORTED.length) return;
    start = i + 1;
  }
}

function checkStatement(
  page: HtmlPage,
  offset: number,
  statement: string,
  isSelector: boolean,
  reported: Set<string>,
): void {
  const text = statement.trimStart();
  const isRule = text.startsWith('@');
  if (isSelector && !isRule) return;
  const colon = text.indexOf(':');
  const property = isRule ? (/^@[\w-]+/.exec(text)?.[0] ?? '') : text.slice(0, Math.max(0, colon));
  if (property === '' || property.length > 64) return;
  const name = property.trim().toLowerCase();
  const content = text
    .slice(colon + 1, colon + 1000)
    .trim()
    .toLowerCase();
  for (const { feature, matches, clients } of UNSUPPORTED) {
    if (reported.has(feature) || !matches(name, isRule ? '' : content)) continue;
    reported.add(feature);
    const at = offset + statement.length - text.length;
    page.report('warning', 'unsupported_css', at, `${feature} is not supported by ${clients}.`);
  }
}
