import { type FieldError, RefusedError } from '../lib/refused-error.ts';
import type { Mask } from './redact.ts';
import type { RenderOptions, Scope } from './substitution.ts';

/** Where a send finds stored templates: parsed once, kept, and forgotten when a new one is published. */
export interface TemplateSource {
  /** Throws a RefusedError `template_not_found` when there is no such template or version. */
  resolve(
    scope: { workspaceId: string },
    wanted: WantedTemplate,
  ): ResolvedTemplate | Promise<ResolvedTemplate>;
}

export interface WantedTemplate {
  key: string;
  /** Undefined: the published one. */
  version: number | 'draft' | undefined;
}

/** A version of a template, with its layout and partials as they are published now. */
export interface ResolvedTemplate {
  key: string;
  version: number | 'draft';
  from: { email: string; name?: string } | undefined;
  replyTo: { email: string; name?: string }[];
  /** Whether any field, layout or partial uses `contact`. */
  usesContact: boolean;
  /** Whether it has variants to choose from. */
  hasLocales: boolean;
  hasSecrets: boolean;
  /** What is wrong with the given values, with pointers below /template_variables. */
  checkVariables(values: Values): FieldError[];
  /** The values with declared defaults filled in. */
  withDefaults(values: Values): Values;
  /** The values of secret variables. */
  secretsIn(values: Values): unknown[];
  /** The values with every secret one replaced. */
  withoutSecrets(values: Values, mask: Mask): Values;
  inLocale(locale: string | undefined): TemplateVariant;
}

export type Values = Readonly<Record<string, unknown>>;

export interface TemplateVariant {
  /** Missing values go to the budget, each with its place in the author's text. */
  render(scope: Scope, options: RenderOptions): RenderedTemplate;
}

export interface RenderedTemplate {
  subject: string;
  html: string;
  /** Null: to be made from html. */
  text: string | null;
}

/** A node without stored templates. */
export const noTemplates: TemplateSource = {
  resolve: (_scope, wanted) => {
    throw new RefusedError('template_not_found', `There is no template "${wanted.key}".`);
  },
};
