import type { FieldError } from '../lib/refused-error.ts';
import { checkVariables } from './check-variables.ts';
import { inferVariables, mergeVariables, type TemplateVariable } from './infer-variables.ts';
import { localeChain } from './locales.ts';
import { mergeGuesses } from './merge-guesses.ts';
import { type Mask, secretValues, withoutSecrets } from './redact.ts';
import { ownWords, type Recipe, type StoredContent, type VersionName } from './stored-content.ts';
import { withDefaults } from './substitution/defaults.ts';
import { hasPlaceholder, type ParsedContent, parseContent } from './substitution.ts';
import type { ResolvedTemplate, Values } from './template-source.ts';
import { CompiledVariant, parseOnce } from './template-variant.ts';
import { type JsonSchema, variablesSchema } from './variables-schema.ts';

/**
 * A template made ready for sends: it, its layout and its partials parsed, its variables inferred,
 * its schema written. Comes in: stored contents that belong together. Leaves: an immutable value
 * that any number of sends share. Throws a ContentSyntaxError when a text is no template, which can
 * happen to drafts only.
 */

export class CompiledTemplate implements ResolvedTemplate {
  readonly key: string;
  readonly version: VersionName;
  readonly from: ResolvedTemplate['from'];
  readonly replyTo: ResolvedTemplate['replyTo'];
  readonly hasLocales: boolean;
  readonly usesContact: boolean;
  readonly hasSecrets: boolean;
  readonly variables: readonly TemplateVariable[];
  readonly schema: JsonSchema;
  /** About what it takes in memory, in characters. */
  readonly weight: number;
  readonly #defaults: Record<string, unknown>;
  readonly #variants: ReadonlyMap<string | undefined, CompiledVariant>;
  readonly #locales: StoredContent['locales'];

  constructor(recipe: Recipe) {
    const { template } = recipe;
    this.key = recipe.key;
    this.version = recipe.version;
    this.from = template.from ?? undefined;
    this.replyTo = template.reply_to;
    this.#locales = template.locales;
    this.hasLocales = Object.keys(template.locales).length > 0;
    const names = nameContents(template);
    const locales = [undefined, ...Object.keys(template.locales)];
    const parse = parseOnce();
    this.#variants = new Map(
      locales.map((locale) => [locale, new CompiledVariant(recipe, locale, parse)]),
    );
    const variants = [...this.#variants.values()];
    const inferred = mergeGuesses([
      { guesses: inferVariables(names), always: true },
      ...variants.map((variant) => ({ guesses: variant.variables(), always: false })),
    ]);
    this.variables = mergeVariables(inferred, template.variables);
    this.schema = variablesSchema(this.variables);
    this.usesContact = [...names, ...variants.flatMap((variant) => variant.contents())].some(
      ({ roots }) => roots.has('contact'),
    );
    this.hasSecrets = this.variables.some(({ secret }) => secret === true);
    this.#defaults = Object.fromEntries(
      template.variables.flatMap(({ name, default: preset }) =>
        preset === undefined || preset === null ? [] : [[name, preset]],
      ),
    );
    this.weight = weightOf(recipe);
  }

  checkVariables(values: Values): FieldError[] {
    return checkVariables(this.schema, values).map((error) => ({
      ...error,
      pointer: `/template_variables${error.pointer}`,
    }));
  }

  withDefaults(values: Values): Values {
    return withDefaults(values, this.#defaults);
  }

  secretsIn(values: Values): unknown[] {
    return secretValues(this.variables, values);
  }

  withoutSecrets(values: Values, mask: Mask): Values {
    return withoutSecrets(this.variables, values, mask);
  }

  /** Without these it cannot be rendered. */
  missingPartials(): string[] {
    const missing = [...this.#variants.values()].flatMap((variant) => variant.missingPartials());
    return [...new Set(missing)];
  }

  inLocale(locale: string | undefined): CompiledVariant {
    const [name] = localeChain(locale, Object.keys(this.#locales));
    return this.#variants.get(name) as CompiledVariant;
  }
}

/** The default sender's name and the reply addresses, where they hold placeholders. */
export function nameContents({ from, reply_to }: StoredContent): ParsedContent[] {
  const texts: [string, string | undefined][] = [
    ['from.name', from?.name],
    ...reply_to.flatMap(({ email, name }, index): [string, string | undefined][] => [
      [`reply_to.${index}.name`, name],
      [`reply_to.${index}.email`, hasPlaceholder(email) ? email : undefined],
    ]),
  ];
  return texts.flatMap(([field, text]) =>
    text === undefined ? [] : [parseContent(text, 'header', field)],
  );
}

/** Sources are held as text and as nodes, and once more with their CSS inlined. */
const HELD_TIMES = 3;
const LEAST_WEIGHT = 4_096;

function weightOf({ template, layout, partials }: Recipe): number {
  const contents = [template, ...(layout ? [layout.content] : []), ...partials.values()];
  const characters = contents
    .flatMap((content) => [ownWords(content), ...Object.values(content.locales)])
    .flatMap((words) => Object.values(words))
    .reduce((sum, text: string) => sum + text.length, 0);
  return LEAST_WEIGHT + HELD_TIMES * characters;
}
