import { inferVariables, type Variable } from './infer-variables.ts';
import { type InlinedPage, inlinePage } from './inline-page.ts';
import { followPartials, parseLayout, renderInLayout } from './layout.ts';
import { mergeGuesses } from './merge-guesses.ts';
import { fieldName, type Recipe, type StoredContent, wordsIn } from './stored-content.ts';
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

  constructor(recipe: Recipe, wanted: string | undefined, parse: Parse) {
    const words = wordsIn(recipe.template, wanted);
    const { locale } = words;
    this.locale = locale;
    this.#source = { recipe, parse, ...words };
    const field = fieldName(recipe.template, locale, 'subject');
    this.subject = parse(words.subject ?? '', 'header', field);
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
  parse: Parse;
  locale: string | undefined;
  html?: string;
  text?: string;
}

function textsOf(source: Sources, page: InlinedPage | undefined): Texts {
  const { recipe, locale, html = '', text } = source;
  const { template, layout } = recipe;
  const around = layoutWords(source);
  const layoutHtml = page ? page.layout : around?.html;
  const layoutField = (field: 'html' | 'text'): string =>
    layout ? `layouts.${layout.key}.${fieldName(layout.content, around?.locale, field)}` : '';
  // Only texts as written are shared: another variant's page has other rules inlined.
  const parse = page ? parseContent : source.parse;
  return {
    html: parse(page?.body ?? html, 'html', fieldName(template, locale, 'html')),
    text: text === undefined ? undefined : parse(text, 'text', fieldName(template, locale, 'text')),
    layoutHtml:
      layoutHtml === undefined ? undefined : parseLayout(layoutHtml, 'html', layoutField('html')),
    layoutText:
      around?.text === undefined
        ? undefined
        : parseLayout(around.text, 'text', layoutField('text')),
    partials: partialsOf(recipe.partials, locale, page, parse),
  };
}

/** Parses each text once for all variants that it stands in. */
export type Parse = typeof parseContent;

export function parseOnce(): Parse {
  const parsed = new Map<string, ParsedContent>();
  return (source, place, field) => {
    // A field's name says whose text it is, and a place what it is parsed for.
    const name = `${place} ${field}`;
    const known = parsed.get(name) ?? parseContent(source, place, field);
    parsed.set(name, known);
    return known;
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
  parse: Parse = parseContent,
): Partials {
  const parsed = new Map<string, ParsedContent>();
  return (key, place) => {
    const known = parsed.get(`${place} ${key}`);
    if (known) return known;
    const content = contents.get(key);
    const words = content && wordsIn(content, locale);
    const field = place === 'html' ? 'html' : 'text';
    const source = words?.[field];
    if (!content || !words || source === undefined) return undefined;
    const name = `partials.${key}.${fieldName(content, words.locale, field)}`;
    const shown = field === 'html' && page ? page.partial(source) : source;
    const partial = parse(shown, place, name);
    parsed.set(`${place} ${key}`, partial);
    return partial;
  };
}

function reachable(contents: readonly ParsedContent[], partials: Partials): ParsedContent[] {
  const { keys } = followPartials(contents, partials);
  const places: Place[] = ['html', 'text', 'header'];
  return keys.flatMap((key) =>
    places.map((place) => partials(key, place)).filter((one) => one !== undefined),
  );
}
