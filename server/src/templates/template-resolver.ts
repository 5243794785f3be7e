import { type FieldError, RefusedError } from '../lib/refused-error.ts';
import type { Mask } from './redact.ts';
import type { RenderOptions, TemplateData } from './template-engine.ts';

/** Where a send finds stored templates: parsed once, kept, and forgotten when a new one is published. */
export interface TemplateResolver {
  /** Throws a RefusedError `template_not_found` when there is no such template or version. */
  resolve(
    scope: { workspaceId: string },
    wanted: TemplateVersionRef,
  ): ResolvedTemplate | Promise<ResolvedTemplate>;
}

export interface TemplateVersionRef {
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
  checkVariables(values: VariableValues): FieldError[];
  /** The values with declared defaults filled in. */
  withDefaults(values: VariableValues): VariableValues;
  /** The values of secret variables. */
  secretsIn(values: VariableValues): unknown[];
  /** The values with every secret one replaced. */
  withoutSecrets(values: VariableValues, mask: Mask): VariableValues;
  inLocale(locale: string | undefined): TemplateVariant;
}

export type VariableValues = Readonly<Record<string, unknown>>;

export interface TemplateVariant {
  /** Missing values go to the budget, each with its place in the author's text. */
  render(scope: TemplateData, options: RenderOptions): RenderedTemplate;
}

export interface RenderedTemplate {
  subject: string;
  html: string;
  /** Null: to be made from html. */
  text: string | null;
}

/** A node without stored templates. */
export const noTemplates: TemplateResolver = {
  resolve: (_scope, wanted) => {
    throw new RefusedError('template_not_found', `There is no template "${wanted.key}".`);
  },
};
