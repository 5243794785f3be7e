import { didYouMean } from '../../lib/did-you-mean.ts';
import { parseSenderFields } from '../compile-template.ts';
import { contentSlot } from '../content/inline-page.ts';
import { followPartials, parseLayout } from '../content/layout.ts';
import {
  baseContent,
  type ContentKind,
  contentForLocale,
  FIELD_FORMATS,
  fieldName,
  type LocaleContent,
  type StoredContent,
} from '../content/stored-content.ts';
import { LineIndex, type Position } from '../engine/content-errors.ts';
import { translationGaps } from '../locales.ts';
import {
  ContentLimitError,
  ContentSyntaxError,
  type ParsedContent,
  type Partials,
  parseContent,
} from '../template-engine.ts';
import { parsedPartials } from '../template-variant.ts';
import { inferVariables } from '../variables/infer-variables.ts';
import { type CheckOptions, checkContent } from './check-content.ts';
import { FINDINGS_MAX, finding, findingsFor, type TemplateFinding } from './template-finding.ts';

/**
 * Lints a whole template, layout or partial before it is published: every locale variant, the
 * partials it renders and the layout around it. Output: findings, each with a message and a
 * position. Errors block publishing, warnings do not.
 */

export interface CheckedTemplate {
  kind: ContentKind;
  key: string;
  content: StoredContent;
  /** The layout that the content names; undefined when it does not exist. */
  layout: StoredContent | undefined;
  /** All reachable partials by key. */
  partials: ReadonlyMap<string, StoredContent>;
}

const COMPARED_MAX = 200;

/** The same text can appear in several variants and several checks, so each is parsed once. */
interface CheckState extends CheckedTemplate {
  parsed: ParseCache;
}

/** Parsed contents by field and source; undefined when the source cannot be parsed. */
type ParseCache = Map<string, ParsedContent | undefined>;

export function checkTemplate(given: CheckedTemplate): TemplateFinding[] {
  const checked: CheckState = { ...given, parsed: new Map() };
  const { kind, content } = checked;
  const findings: TemplateFinding[] = [...missingFields(checked)];
  const own = baseContent(content);
  findings.push(...checkLocaleContent(checked, own, ''));
  for (const [locale, localized] of Object.entries(content.locales)) {
    findings.push(...checkLocaleContent(checked, localized, `locales.${locale}.`));
  }
  if (kind === 'template') {
    findings.push(...checkSenderFields(content));
    // The limit that stopped one analysis would stop this one too, and it is already reported.
    if (!findings.some(({ code }) => code === 'template_limit'))
      findings.push(...checkTranslations(checked));
    findings.push(...checkDeclared(checked));
    if (checked.layout) findings.push(...checkWholePage(checked, own, checked.layout));
  }
  if (kind === 'layout') findings.push(...checkLayoutSlots(content));
  return findings.slice(0, FINDINGS_MAX);
}

/** The same checks for inline content, which has neither layout nor partials. */
export function checkInlineContent(localized: LocaleContent): TemplateFinding[] {
  const { subject, html, text } = localized;
  const findings = checkContent({ subject, html, text });
  for (const parsed of parsedFields(localized)) {
    const positionOf = renderPositions(parsed);
    for (const key of parsed.partialKeys) {
      const message = 'Only stored templates can render partials.';
      findings.push({
        ...finding('error', 'partial_not_found', message, parsed.field),
        ...positionOf(key),
      });
    }
  }
  return findings.slice(0, FINDINGS_MAX);
}

function missingFields({ kind, content, layout }: CheckedTemplate): TemplateFinding[] {
  const missing = (field: string, message: string): TemplateFinding =>
    finding('error', `${field}_missing`, message, field);
  if (kind === 'partial') {
    return content.html === null && content.text === null
      ? [missing('html', 'A partial needs html or text.')]
      : [];
  }
  const found: TemplateFinding[] = [];
  if (kind === 'template' && content.subject === null) {
    found.push(missing('subject', 'A template needs a subject.'));
  }
  if (content.html === null) found.push(missing('html', `A ${kind} needs html.`));
  if (content.layout !== null && !layout) {
    const message = `There is no published layout \`${content.layout}\`.`;
    found.push(finding('error', 'layout_not_found', message, 'layout'));
  }
  return found;
}

function checkLocaleContent(
  checked: CheckState,
  localized: LocaleContent,
  fieldPrefix: string,
): TemplateFinding[] {
  const locale = /^locales\.(.+)\.$/.exec(fieldPrefix)?.[1];
  const broken: TemplateFinding[] = [];
  const partials = skipBroken(parsedPartials(checked.partials, locale), broken);
  const fragment = checked.kind !== 'template' || checked.content.layout !== null;
  const options: CheckOptions = {
    declared: declaredNames(checked, localized, partials),
    partials,
    fieldPrefix,
    fragment,
  };
  const { subject, html, text } = localized;
  const findings = checkContent({ subject, html, text }, options);
  findings.push(...checkPartials(checked, localized, fieldPrefix, partials), ...broken);
  return findings;
}

/** Reports a partial that cannot be parsed once, and treats it as missing. */
function skipBroken(partials: Partials, broken: TemplateFinding[]): Partials {
  return (key, format) => {
    try {
      return partials(key, format);
    } catch (error) {
      const known = error instanceof ContentSyntaxError || error instanceof ContentLimitError;
      if (!known) throw error;
      const message = `The partial \`${key}\` cannot be used: ${error.detail}`;
      if (!broken.some((one) => one.message === message)) {
        broken.push(finding('error', 'partial_broken', message, error.field));
      }
      return undefined;
    }
  };
}

/**
 * Names that are not typos: the declared ones, and those that resemble none of them. Declarations
 * are optional, so without any no name is unknown.
 */
function declaredNames(
  { content, parsed }: CheckState,
  localized: LocaleContent,
  partials: Partials,
): string[] | undefined {
  const declared = content.variables.map(({ name }) => name);
  if (declared.length === 0) return undefined;
  const inferred = inferredNames(parsedFields(localized, parsed), partials);
  // Every pair is compared character by character, which is not worth it for machine-made lists.
  if (!inferred || inferred.length > COMPARED_MAX || declared.length > COMPARED_MAX)
    return undefined;
  return [...declared, ...inferred.filter((name) => didYouMean(name, declared) === undefined)];
}

function checkPartials(
  checked: CheckState,
  localized: LocaleContent,
  fieldPrefix: string,
  partials: Partials,
): TemplateFinding[] {
  const findings: TemplateFinding[] = [];
  const self = checked.kind === 'partial' ? checked.key : undefined;
  for (const parsed of parsedFields(localized, checked.parsed)) {
    const field = fieldPrefix + parsed.field;
    const report = followPartials([parsed], partials);
    const positionOf = renderPositions(parsed);
    for (const key of report.missing) {
      const what = parsed.format === 'html' ? 'html' : 'text';
      const message = checked.partials.has(key)
        ? `The partial \`${key}\` has no ${what} or cannot be used.`
        : `There is no published partial \`${key}\`.`;
      findings.push({
        ...finding('error', 'partial_not_found', message, field),
        ...positionOf(key),
      });
    }
    const cycle = report.cycle ?? (self !== undefined && report.keys.includes(self) && [self]);
    if (cycle) {
      const message = `Partials render each other in a cycle: ${cycle.join(' → ')}.`;
      findings.push(finding('error', 'partial_cycle', message, field));
    }
  }
  return findings;
}

/** The position where a field first renders each partial, computed on demand. */
function renderPositions({ source }: ParsedContent): (key: string) => Position {
  let offsets: Map<string, number> | undefined;
  let lines: LineIndex | undefined;
  return (key) => {
    offsets ??= firstRenders(source);
    lines ??= new LineIndex(source);
    const offset = offsets.get(key);
    return offset === undefined ? { line: 1, column: 1 } : lines.positionAt(offset);
  };
}

function firstRenders(source: string): Map<string, number> {
  const offsets = new Map<string, number>();
  for (const match of source.matchAll(/\{%-?\s*render\s+["']([^"']+)["']/g)) {
    const key = match[1] as string;
    if (!offsets.has(key)) offsets.set(key, match.index);
  }
  return offsets;
}

function checkSenderFields(content: StoredContent): TemplateFinding[] {
  try {
    return parseSenderFields(content)
      .filter(({ partialKeys }) => partialKeys.size > 0)
      .map(({ field }) =>
        finding('error', 'template_syntax', 'A name or address cannot render partials.', field),
      );
  } catch (error) {
    return findingsFor(error);
  }
}

/** Reports what a variant lacks, which is usually a forgotten translation. */
function checkTranslations({ content, partials, parsed }: CheckState): TemplateFinding[] {
  if (Object.keys(content.locales).length === 0) return [];
  const fieldsOf = (localized: LocaleContent) =>
    Object.fromEntries(parsedFields(localized, parsed).map((one) => [one.field, one]));
  const variants = Object.fromEntries(
    Object.keys(content.locales).map((locale) => [
      locale,
      fieldsOf(contentForLocale(content, locale)),
    ]),
  );
  const base = skipBroken(parsedPartials(partials, undefined), []);
  const paths = translationGaps(fieldsOf(baseContent(content)), variants, base);
  const gaps = Object.keys(content.locales).flatMap((locale) => {
    const localized = contentForLocale(content, locale);
    return (['subject', 'html', 'text'] as const)
      .filter((field) => content[field] !== null && fieldName(content, locale, field) === field)
      .map((field) => {
        const message =
          localized[field] === undefined
            ? `The variant \`${locale}\` has no ${field}. It will be generated from the variant's html.`
            : `The variant \`${locale}\` has no ${field}. The template's default ${field} will be used.`;
        return finding('warning', 'locale_gap', message, `locales.${locale}`);
      });
  });
  for (const { locale, kind, name } of paths) {
    if (kind !== 'path') continue;
    const message = `The variant \`${locale}\` does not use \`${name}\`, but the template does.`;
    gaps.push(finding('warning', 'locale_gap', message, `locales.${locale}`));
  }
  return gaps;
}

/** A declared variable that is never used is a leftover or a typo. */
function checkDeclared(checked: CheckState): TemplateFinding[] {
  const { content, layout, partials, parsed } = checked;
  const found = new Set<string>();
  const bases = [content, ...(layout ? [layout] : [])];
  for (const base of bases) {
    for (const locale of [undefined, ...Object.keys(content.locales)]) {
      const used = skipBroken(parsedPartials(partials, locale), []);
      const names = inferredNames(parsedFields(contentForLocale(base, locale), parsed), used);
      if (!names) return [finding('error', 'template_limit', TOO_MANY_VARIABLES, 'html')];
      for (const name of names) found.add(name);
    }
  }
  if (checkSenderFields(content).length === 0) {
    for (const name of inferredNames(parseSenderFields(content), undefined) ?? []) found.add(name);
  }
  const above = new Set([...found].flatMap(ancestorsOf));
  // A path without nested uses is used as a whole, including everything in it.
  const isUsed = (name: string): boolean =>
    found.has(name) ||
    above.has(name) ||
    ancestorsOf(name).some((path) => found.has(path) && !above.has(path));
  return content.variables.flatMap(({ name }, index) => {
    if (isUsed(name)) return [];
    const message = `The variable \`${name}\` is not used.`;
    return [finding('warning', 'unused_variable', message, `variables.${index}`)];
  });
}

const TOO_MANY_VARIABLES = 'The template uses too many different variables.';

/** Undefined when there are too many variables. */
function inferredNames(
  contents: readonly ParsedContent[],
  partials: Partials | undefined,
): string[] | undefined {
  try {
    return inferVariables(contents, partials).map(({ name }) => name);
  } catch (error) {
    if (error instanceof ContentLimitError) return undefined;
    throw error;
  }
}

/** `order.lines[].price` has the ancestors `order.lines[]`, `order.lines` and `order`. */
function ancestorsOf(path: string): string[] {
  const steps = [...path.matchAll(/\.|\[\]/g)].map(({ index }) => path.slice(0, index));
  return [...new Set(steps)];
}

const WHOLE_PAGE_CODES = new Set(['too_large', 'preheader_missing']);

/** Checks that need the whole page: the template inside its layout. */
function checkWholePage(
  checked: CheckedTemplate,
  own: LocaleContent,
  layout: StoredContent,
): TemplateFinding[] {
  const layoutHtml = baseContent(layout).html;
  if (own.html === undefined || layoutHtml === undefined) return [];
  let page: string;
  try {
    const slot = contentSlot(layoutHtml);
    if (!slot) return [];
    page = layoutHtml.slice(0, slot.start) + own.html + layoutHtml.slice(slot.end);
  } catch {
    // The layout has syntax errors, which its own check reports.
    return [];
  }
  const partials = skipBroken(parsedPartials(checked.partials, undefined), []);
  return checkContent({ html: page, text: own.text }, { partials })
    .filter(({ code }) => WHOLE_PAGE_CODES.has(code))
    .map((one) => ({ ...one, line: 1, column: 1 }));
}

/** Every variant of a layout needs exactly one slot for the template. */
function checkLayoutSlots(content: StoredContent): TemplateFinding[] {
  const variants: [string, LocaleContent][] = [
    ['', baseContent(content)],
    ...Object.entries(content.locales).map(([locale, localized]): [string, LocaleContent] => [
      `locales.${locale}.`,
      localized,
    ]),
  ];
  return variants.flatMap(([prefix, localized]) =>
    (['html', 'text'] as const).flatMap((field) => {
      const source = localized[field];
      if (source === undefined || parsedFields({ [field]: source }).length === 0) return [];
      try {
        parseLayout(source, field, `${prefix}${field}`);
        return [];
      } catch (error) {
        return findingsFor(error);
      }
    }),
  );
}

/** The fields that can be parsed; checkContent reports the others. */
function parsedFields(localized: LocaleContent, known: ParseCache = new Map()): ParsedContent[] {
  return (['subject', 'html', 'text'] as const).flatMap((field) => {
    const source = localized[field];
    if (source === undefined) return [];
    const name = `${field} ${source}`;
    if (!known.has(name)) known.set(name, tryParse(source, field));
    return [known.get(name)].filter((one) => one !== undefined);
  });
}

function tryParse(source: string, field: keyof LocaleContent): ParsedContent | undefined {
  try {
    return parseContent(source, FIELD_FORMATS[field], field);
  } catch (error) {
    findingsFor(error);
    return undefined;
  }
}
