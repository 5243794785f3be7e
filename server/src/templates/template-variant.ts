import { inferVariables, type Variable } from './infer-variables.ts';
import { type InlinedPage, inlinePage } from './inline-page.ts';
import { followPartials, parseLayout, renderInLayout } from './layout.ts';
import { mergeGuesses } from './merge-guesses.ts';
import { type Recipe, type StoredContent, wordsIn } from './stored-content.ts';
import {
  type ParsedContent,
  type Partials,
  type Place,
  parseContent,
  RenderBudget,
  type RenderOptions,
  renderContent,
  type Scope,
} from './substitution.ts';
import type { RenderedTemplate, TemplateVariant } from './template-source.ts';

/** A template in one of its languages, with the layout and the partials in the same one. */
export class CompiledVariant implements TemplateVariant {
  /** Undefined: the template's own content. */
  readonly locale: string | undefined;
  readonly subject: ParsedContent;
  /** As the authors wrote it: what places are told in. */
  readonly written: Texts;
  readonly #source: Sources;
  #sent: Texts | undefined;

  constructor(recipe: Recipe, wanted: string | undefined) {
    const words = wordsIn(recipe.template, wanted);
    const { locale } = words;
    const prefix = locale === undefined ? '' : `locales.${locale}.`;
    this.locale = locale;
    this.subject = parseContent(words.subject ?? '', 'header', `${prefix}subject`);
    this.#source = { recipe, prefix, ...words };
    this.written = textsOf(this.#source, undefined);
  }

  render(scope: Scope, options: RenderOptions): RenderedTemplate {
    const { budget } = options;
    const { missing, warnings } = budget;
    const told = [missing.length, warnings.length];
    this.#sent ??= this.#inlined();
    const words = this.#words(this.#sent, scope, options);
    const isNew = missing.length !== told[0] || warnings.length !== told[1];
    if (isNew && this.#sent !== this.written) {
      // Inlined CSS moves columns: what there is to tell is found once more in the texts as written.
      missing.splice(told[0] as number);
      warnings.splice(told[1] as number);
      const again = new RenderBudget(budget.limits);
      this.#words(this.written, scope, { ...options, budget: again });
      for (const one of again.missing) budget.addMissing(one);
      for (const one of again.warnings) budget.addWarning(one);
    }
    return words;
  }

  /** What a send in this language has to supply. */
  variables(): Variable[] {
    const { html, text, layoutHtml, layoutText, partials } = this.written;
    const own = [this.subject, html, text].filter((one) => one !== undefined);
    const around = [layoutHtml, layoutText].filter((one) => one !== undefined);
    return mergeGuesses([
      { guesses: inferVariables(own, partials), always: true },
      {
        guesses: inferVariables(around, partials).filter(({ name }) => !/^content\b/.test(name)),
        always: true,
      },
    ]);
  }

  /** Every text that this variant is made of. */
  contents(): ParsedContent[] {
    const { html, text, layoutHtml, layoutText, partials } = this.written;
    const own = [this.subject, html, text, layoutHtml, layoutText].filter(
      (one) => one !== undefined,
    );
    return [...own, ...reachable(own, partials)];
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

  #words(texts: Texts, scope: Scope, options: RenderOptions): RenderedTemplate {
    const within = { ...options, partials: texts.partials };
    const { html, text, layoutHtml, layoutText } = texts;
    return {
      subject: renderContent(this.subject, scope, within),
      html: renderInLayout(html, layoutHtml, scope, within),
      text: text ? renderInLayout(text, layoutText, scope, within) : null,
    };
  }

  #inlined(): Texts {
    const { recipe, locale, html = '' } = this.#source;
    const sources = followPartials(
      [this.written.html, this.written.layoutHtml].filter((one) => one !== undefined),
      this.written.partials,
    )
      .keys.map((key) => recipe.partials.get(key))
      .map((content) => (content ? wordsIn(content, locale).html : undefined))
      .filter((one) => one !== undefined);
    const layout = layoutWords(this.#source)?.html;
    const page = inlinePage(html, layout, sources);
    const untouched = page.body === html && page.layout === layout;
    if (untouched && sources.every((source) => page.partial(source) === source)) {
      return this.written;
    }
    return textsOf(this.#source, page);
  }
}

interface Texts {
  html: ParsedContent;
  text: ParsedContent | undefined;
  layoutHtml: ParsedContent | undefined;
  layoutText: ParsedContent | undefined;
  partials: Partials;
}

interface Sources {
  recipe: Recipe;
  locale: string | undefined;
  prefix: string;
  html?: string;
  text?: string;
}

function textsOf(source: Sources, page: InlinedPage | undefined): Texts {
  const { recipe, prefix, html = '', text } = source;
  const { layout } = recipe;
  const around = layoutWords(source);
  const layoutHtml = page ? page.layout : around?.html;
  const layoutField = `layouts.${layout?.key}.${prefixOf(around?.locale)}`;
  return {
    html: parseContent(page?.body ?? html, 'html', `${prefix}html`),
    text: text === undefined ? undefined : parseContent(text, 'text', `${prefix}text`),
    layoutHtml:
      layoutHtml === undefined ? undefined : parseLayout(layoutHtml, 'html', `${layoutField}html`),
    layoutText:
      around?.text === undefined
        ? undefined
        : parseLayout(around.text, 'text', `${layoutField}text`),
    partials: partialsOf(recipe.partials, source.locale, page),
  };
}

function layoutWords({ recipe, locale }: Sources) {
  return recipe.layout && wordsIn(recipe.layout.content, locale);
}

/** Partials by key, parsed when they are first asked for. In a subject a partial's text is used. */
export function partialsOf(
  contents: ReadonlyMap<string, StoredContent>,
  locale: string | undefined,
  page?: InlinedPage,
): Partials {
  const parsed = new Map<string, ParsedContent>();
  return (key, place) => {
    const known = parsed.get(`${place} ${key}`);
    if (known) return known;
    const content = contents.get(key);
    const words = content && wordsIn(content, locale);
    const field = place === 'html' ? 'html' : 'text';
    const source = words?.[field];
    if (source === undefined) return undefined;
    const name = `partials.${key}.${prefixOf(words?.locale)}${field}`;
    const shown = field === 'html' && page ? page.partial(source) : source;
    const partial = parseContent(shown, place, name);
    parsed.set(`${place} ${key}`, partial);
    return partial;
  };
}

function prefixOf(locale: string | undefined): string {
  return locale === undefined ? '' : `locales.${locale}.`;
}

function reachable(contents: readonly ParsedContent[], partials: Partials): ParsedContent[] {
  const { keys } = followPartials(contents, partials);
  const places: Place[] = ['html', 'text', 'header'];
  return keys.flatMap((key) =>
    places.map((place) => partials(key, place)).filter((one) => one !== undefined),
  );
}
