import { type InlinedPage, inlinePage } from './content/inline-page.ts';
import { followPartials, parseLayout, renderInLayout } from './content/layout.ts';
import {
  contentForLocale,
  fieldName,
  type ResolvedSources,
  type StoredContent,
} from './content/stored-content.ts';
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
import type {
  RenderedTemplate,
  TemplateRenderOptions,
  TemplateVariant,
} from './template-resolver.ts';
import { inferVariables, mergeInferred, type Variable } from './variables/infer-variables.ts';

/** A template compiled for one locale, with its layout and partials in the same locale. */
export class CompiledVariant implements TemplateVariant {
  /** Undefined for the template's base content. */
  readonly locale: string | undefined;
  readonly subject: ParsedContent;
  /** The sources as written, which reported positions refer to. */
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

  render(data: TemplateData, options: TemplateRenderOptions): RenderedTemplate {
    const { budget } = options;
    const { missing, warnings } = budget;
    const [missingBefore, warningsBefore] = [missing.length, warnings.length];
    if (options.inlineCss === false) return this.#renderParts(this.written, data, options);
    this.#inlined ??= this.#inlineCss();
    const localized = this.#renderParts(this.#inlined, data, options);
    const isNew = missing.length !== missingBefore || warnings.length !== warningsBefore;
    if (isNew && this.#inlined !== this.written) {
      // Inlined CSS shifts columns, so the issues are collected again from the sources as written.
      missing.splice(missingBefore);
      warnings.splice(warningsBefore);
      const again = new RenderBudget(budget.limits, budget.sharedWork);
      this.#renderParts(this.written, data, { ...options, budget: again });
      for (const one of again.missing) budget.addMissing(one);
      for (const one of again.warnings) budget.addWarning(one);
    }
    return localized;
  }

  /** The variables that a send in this locale must supply. */
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

  /** Every parsed source of this variant. */
  contents(): ParsedContent[] {
    const { html, text, layoutHtml, layoutText, partials } = this.written;
    const own = [this.subject, html, text, layoutHtml, layoutText].filter(
      (one) => one !== undefined,
    );
    return [...own, ...reachablePartials(own, partials)];
  }

  /** Keys of partials that are rendered but do not exist. */
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
  // Only sources as written are shared, because each variant's page has different rules inlined.
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

/** Parses each source once for all variants that contain it. */
export type ParseContent = typeof parseContent;

export function memoizedParser(): ParseContent {
  const parsed = new Map<string, ParsedContent>();
  return (source, format, field) => {
    // The field name identifies the source, and the format determines how it is parsed.
    const name = `${format} ${field}`;
    const known = parsed.get(name) ?? parseContent(source, format, field);
    parsed.set(name, known);
    return known;
  };
}

function layoutContent({ sources, locale }: VariantSource) {
  return sources.layout && contentForLocale(sources.layout.content, locale);
}

/** Looks up partials by key and parses them on first use. A subject uses a partial's text. */
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
