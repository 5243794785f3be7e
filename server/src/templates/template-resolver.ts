import type { FieldError } from '../lib/refused-error.ts';
import type { Mask } from './content/redact.ts';
import type { ResolvedSources } from './content/stored-content.ts';
import type { RenderOptions, TemplateData } from './template-engine.ts';

/** How a send finds stored templates, compiled and cached until a new version is published. */
export interface TemplateResolver {
  /** Throws a RefusedError `template_not_found` when the template or version does not exist. */
  resolve(
    workspace: { workspaceId: string },
    ref: TemplateVersionRef,
  ): ResolvedTemplate | Promise<ResolvedTemplate>;
}

export interface TemplateVersionRef {
  key: string;
  /** Undefined: the published version. */
  version: number | 'draft' | undefined;
}

/** A version of a template with its published layout and partials. */
export interface ResolvedTemplate {
  sources: ResolvedSources;
  key: string;
  version: number | 'draft';
  from: { email: string; name?: string } | undefined;
  replyTo: { email: string; name?: string }[];
  /** The stream of sends that name none. */
  stream: string | undefined;
  /** Whether any field, layout or partial uses `contact`. */
  usesContact: boolean;
  /** Whether it has locale variants. */
  hasLocales: boolean;
  hasSecrets: boolean;
  /** Errors in the given values, with pointers below /template_variables. */
  checkVariables(values: VariableValues): FieldError[];
  /** The values with declared defaults filled in. */
  withDefaults(values: VariableValues): VariableValues;
  /** The values of secret variables. */
  secretsIn(values: VariableValues): unknown[];
  /** The values with every secret replaced. */
  withoutSecrets(values: VariableValues, mask: Mask): VariableValues;
  inLocale(locale: string | undefined): TemplateVariant;
}

export type VariableValues = Readonly<Record<string, unknown>>;

export interface TemplateRenderOptions extends RenderOptions {
  /** False: style sheets are not copied into style attributes. */
  inlineCss?: boolean | undefined;
}

export interface TemplateVariant {
  /** Missing values are added to the budget, each with its position in the source. */
  render(workspace: TemplateData, options: TemplateRenderOptions): RenderedTemplate;
}

export interface RenderedTemplate {
  subject: string;
  html: string;
  /** Null: generated from html. */
  text: string | null;
}
