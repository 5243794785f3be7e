import type { FieldError } from '../lib/refused-error.ts';
import { checkVariables } from './checks/check-variables.ts';
import { type Mask, secretValues, withoutSecrets } from './content/redact.ts';
import {
  baseContent,
  type ResolvedSources,
  type StoredContent,
  type VersionSelector,
} from './content/stored-content.ts';
import { withDefaults } from './engine/apply-defaults.ts';
import { localeChain } from './locales.ts';
import { hasPlaceholder, type ParsedContent, parseContent } from './template-engine.ts';
import type { ResolvedTemplate, VariableValues } from './template-resolver.ts';
import { CompiledVariant, memoizedParser } from './template-variant.ts';
import {
  inferVariables,
  mergeInferred,
  mergeVariables,
  type TemplateVariable,
} from './variables/infer-variables.ts';
import { type JsonSchema, variablesSchema } from './variables/variables-schema.ts';

/**
 * A template compiled for sending: the template, its layout and its partials are parsed, its
 * variables inferred and its JSON Schema built. Input: the resolved sources. Output: an immutable
 * value that any number of sends share. Throws a ContentSyntaxError when a source has syntax
 * errors, which can only happen for drafts.
 */

export class CompiledTemplate implements ResolvedTemplate {
  readonly sources: ResolvedSources;
  readonly key: string;
  readonly version: VersionSelector;
  readonly from: ResolvedTemplate['from'];
  readonly replyTo: ResolvedTemplate['replyTo'];
  readonly stream: string | undefined;
  readonly hasLocales: boolean;
  readonly usesContact: boolean;
  readonly hasSecrets: boolean;
  readonly variables: readonly TemplateVariable[];
  readonly schema: JsonSchema;
  /** Approximate memory use, in characters. */
  readonly weight: number;
  readonly #defaults: Record<string, unknown>;
  readonly #variants: ReadonlyMap<string | undefined, CompiledVariant>;
  readonly #locales: StoredContent['locales'];

  constructor(sources: ResolvedSources) {
    const { template } = sources;
    this.sources = sources;
    this.key = sources.key;
    this.version = sources.version;
    this.from = template.from ?? undefined;
    this.replyTo = template.reply_to;
    this.stream = template.stream ?? undefined;
    this.#locales = template.locales;
    this.hasLocales = Object.keys(template.locales).length > 0;
    const names = parseSenderFields(template);
    const locales = [undefined, ...Object.keys(template.locales)];
    const parse = memoizedParser();
    this.#variants = new Map(
      locales.map((locale) => [locale, new CompiledVariant(sources, locale, parse)]),
    );
    const variants = [...this.#variants.values()];
    const inferred = mergeInferred([
      { variables: inferVariables(names), unconditional: true },
      ...variants.map((variant) => ({ variables: variant.variables(), unconditional: false })),
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
    this.weight = weightOf(sources);
  }

  checkVariables(values: VariableValues): FieldError[] {
    return checkVariables(this.schema, values).map((error) => ({
      ...error,
      pointer: `/template_variables${error.pointer}`,
    }));
  }

  withDefaults(values: VariableValues): VariableValues {
    return withDefaults(values, this.#defaults);
  }

  secretsIn(values: VariableValues): unknown[] {
    return secretValues(this.variables, values);
  }

  withoutSecrets(values: VariableValues, mask: Mask): VariableValues {
    return withoutSecrets(this.variables, values, mask);
  }

  /** Partials that are rendered but do not exist; with any of them missing, rendering fails. */
  missingPartials(): string[] {
    const missing = [...this.#variants.values()].flatMap((variant) => variant.missingPartials());
    return [...new Set(missing)];
  }

  inLocale(locale: string | undefined): CompiledVariant {
    const [name] = localeChain(locale, Object.keys(this.#locales));
    return this.#variants.get(name) as CompiledVariant;
  }
}

/** Parses the default sender name and the reply-to addresses, where they contain placeholders. */
export function parseSenderFields({ from, reply_to }: StoredContent): ParsedContent[] {
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

/** Sources are held as text and as nodes, and again with CSS inlined. */
const COPIES_HELD = 3;
const WEIGHT_MIN = 4_096;

function weightOf({ template, layout, partials }: ResolvedSources): number {
  const contents = [template, ...(layout ? [layout.content] : []), ...partials.values()];
  const characters = contents
    .flatMap((content) => [baseContent(content), ...Object.values(content.locales)])
    .flatMap((localized) => Object.values(localized))
    .reduce((sum, text: string) => sum + text.length, 0);
  return WEIGHT_MIN + COPIES_HELD * characters;
}
