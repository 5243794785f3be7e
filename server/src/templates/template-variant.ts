import { inferVariables, type Variable } from './infer-variables.ts';
import { type InlinedPage, inlinePage } from './inline-page.ts';
import { followPartials, parseLayout, renderInLayout } from './layout.ts';
import { mergeInferred } from './merge-guesses.ts';
import {
  contentForLocale,
  fieldName,
  type ResolvedSources,
  type StoredContent,
} from './stored-content.ts';
import {
  type OutputFormat,
  type ParsedContent,
  type Partials,
  parseContent,
  RenderBudget,
  type RenderOptions,
  renderContent,
  type TemplateData,
} from './template-engine.ts';
import type { RenderedTemplate, TemplateVariant } from './template-resolver.ts';

/** A template in one of its languages, with the layout and the partials in the same one. */
export class CompiledVariant implements TemplateVariant {
  /** Undefined: the template's own content. */
  readonly locale: string | undefined;
  readonly subject: ParsedContent;
  /** As the authors wrote it: what places are told in. */
  readonly written: ParsedParts;
  readonly #source: VariantSource;
  #inlined: ParsedParts | undefined;

  constructor(sources: ResolvedSources, requested: string | undefined, parse: ParseContent) {
    const localized = contentForLocale(sources.template, requested);
    const { locale } = localized;
    this.locale = locale;
    this.#source = { sources, parse, ...localized };
    const field = fieldName(sources.template, locale, 'subject');
    this.subject = parse(localized.subject ?? '', 'header', field);
    this.written = parseParts(this.#source, undefined);
  }

  render(data: TemplateData, options: RenderOptions): RenderedTemplate {
    const { budget } = options;
    const { missing, warnings } = budget;
    const [missingBefore, warningsBefore] = [missing.length, warnings.length];
    this.#inlined ??= this.#inlineCss();
    const localized = this.#renderParts(this.#inlined, data, options);
    const isNew = missing.length !== missingBefore || warnings.length !== warningsBefore;
    if (isNew && this.#inlined !== this.written) {
      // Inlined CSS moves columns: what there is to tell is found once more in the texts as written.
      missing.splice(missingBefore);
      warnings.splice(warningsBefore);
      const again = new RenderBudget(budget.limits);
      this.#renderParts(this.written, data, { ...options, budget: again });
      for (const one of again.missing) budget.addMissing(one);
      for (const one of again.warnings) budget.addWarning(one);
    }
    return localized;
  }

  /** What a send in this language has to supply. */
  variables(): Variable[] {
    const { html, text, layoutHtml, layoutText, partials } = this.written;
    const own = [this.subject, html, text].filter((one) => one !== undefined);
    const layoutTexts = [layoutHtml, layoutText].filter((one) => one !== undefined);
    return mergeInferred([
      { variables: inferVariables(own, partials), unconditional: true },
      {
        variables: inferVariables(layoutTexts, partials).filter(
          ({ name }) => !/^content\b/.test(name),
        ),
        unconditional: true,
      },
    ]);
  }

  /** Every text that this variant is made of. */
  contents(): ParsedContent[] {
    const { html, text, layoutHtml, layoutText, partials } = this.written;
    const own = [this.subject, html, text, layoutHtml, layoutText].filter(
      (one) => one !== undefined,
    );
    return [...own, ...reachablePartials(own, partials)];
  }

  /** Partials that its texts render and that are not there. */
  missingPartials(): string[] {
    const { html, text, layoutHtml, layoutText, partials } = this.written;
    const own = [this.subject, html, text, layoutHtml, layoutText];
    return followPartials(
      own.filter((one) => one !== undefined),
      partials,
    ).missing;
  }

  #renderParts(parts: ParsedParts, data: TemplateData, options: RenderOptions): RenderedTemplate {
    const within = { ...options, partials: parts.partials };
    const { html, text, layoutHtml, layoutText } = parts;
    return {
      subject: renderContent(this.subject, data, within),
      html: renderInLayout(html, layoutHtml, data, within),
      text: text ? renderInLayout(text, layoutText, data, within) : null,
    };
  }

  #inlineCss(): ParsedParts {
    const { sources, locale, html = '' } = this.#source;
    const partialSources = followPartials(
      [this.written.html, this.written.layoutHtml].filter((one) => one !== undefined),
      this.written.partials,
    )
      .keys.map((key) => sources.partials.get(key))
      .map((content) => (content ? contentForLocale(content, locale).html : undefined))
      .filter((one) => one !== undefined);
    const layout = layoutContent(this.#source)?.html;
    const page = inlinePage(html, layout, partialSources);
    const untouched = page.body === html && page.layout === layout;
    if (untouched && partialSources.every((source) => page.partial(source) === source)) {
      return this.written;
    }
    return parseParts(this.#source, page);
  }
}

interface ParsedParts {
  html: ParsedContent;
  text: ParsedContent | undefined;
  layoutHtml: ParsedContent | undefined;
  layoutText: ParsedContent | undefined;
  partials: Partials;
}

interface VariantSource {
  sources: ResolvedSources;
  parse: ParseContent;
  locale: string | undefined;
  html?: string;
  text?: string;
}

function parseParts(source: VariantSource, page: InlinedPage | undefined): ParsedParts {
  const { sources, locale, html = '', text } = source;
  const { template, layout } = sources;
  const layoutTexts = layoutContent(source);
  const layoutHtml = page ? page.layout : layoutTexts?.html;
  const layoutField = (field: 'html' | 'text'): string =>
    layout ? `layouts.${layout.key}.${fieldName(layout.content, layoutTexts?.locale, field)}` : '';
  // Only texts as written are shared: another variant's page has other rules inlined.
  const parse = page ? parseContent : source.parse;
  return {
    html: parse(page?.body ?? html, 'html', fieldName(template, locale, 'html')),
    text: text === undefined ? undefined : parse(text, 'text', fieldName(template, locale, 'text')),
    layoutHtml:
      layoutHtml === undefined ? undefined : parseLayout(layoutHtml, 'html', layoutField('html')),
    layoutText:
      layoutTexts?.text === undefined
        ? undefined
        : parseLayout(layoutTexts.text, 'text', layoutField('text')),
    partials: parsedPartials(sources.partials, locale, page, parse),
  };
}

/** Parses each text once for all variants that it stands in. */
export type ParseContent = typeof parseContent;

export function memoizedParser(): ParseContent {
  const parsed = new Map<string, ParsedContent>();
  return (source, format, field) => {
    // A field's name says whose text it is, and a place what it is parsed for.
    const name = `${format} ${field}`;
    const known = parsed.get(name) ?? parseContent(source, format, field);
    parsed.set(name, known);
    return known;
  };
}

function layoutContent({ sources, locale }: VariantSource) {
  return sources.layout && contentForLocale(sources.layout.content, locale);
}

/** Partials by key, parsed when they are first asked for. In a subject a partial's text is used. */
export function parsedPartials(
  contents: ReadonlyMap<string, StoredContent>,
  locale: string | undefined,
  page?: InlinedPage,
  parse: ParseContent = parseContent,
): Partials {
  const parsed = new Map<string, ParsedContent>();
  return (key, format) => {
    const known = parsed.get(`${format} ${key}`);
    if (known) return known;
    const content = contents.get(key);
    const localized = content && contentForLocale(content, locale);
    const field = format === 'html' ? 'html' : 'text';
    const source = localized?.[field];
    if (!content || !localized || source === undefined) return undefined;
    const name = `partials.${key}.${fieldName(content, localized.locale, field)}`;
    const shown = field === 'html' && page ? page.partial(source) : source;
    const partial = parse(shown, format, name);
    parsed.set(`${format} ${key}`, partial);
    return partial;
  };
}

function reachablePartials(
  contents: readonly ParsedContent[],
  partials: Partials,
): ParsedContent[] {
  const { keys } = followPartials(contents, partials);
  const formats: OutputFormat[] = ['html', 'text', 'header'];
  return keys.flatMap((key) =>
    formats.map((format) => partials(key, format)).filter((one) => one !== undefined),
  );
}
