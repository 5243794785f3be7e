import type { Mode } from '../accounts/mode.ts';
import { type FieldError, RefusedError } from '../base/refused-error.ts';
import type { RenderOptions, Scope } from './substitution.ts';

/** Where a send finds stored templates: parsed once, kept, and forgotten when a new one is published. */
export interface TemplateSource {
  /** Throws a RefusedError `template_not_found` when there is no such template or version. */
  resolve(
    scope: { workspaceId: string; mode: Mode },
    wanted: WantedTemplate,
  ): Promise<ResolvedTemplate>;
}

export interface WantedTemplate {
  key: string;
  /** Undefined: the published one. */
  version: number | 'draft' | undefined;
  locale: string | undefined;
}

export interface ResolvedTemplate {
  key: string;
  version: number | 'draft';
  from: { email: string; name?: string } | undefined;
  replyTo: { email: string; name?: string }[];
  /** Whether any field, layout or partial uses `contact`. */
  usesContact: boolean;
  /** What is wrong with the given values, with pointers below /template_variables. */
  checkVariables(values: Record<string, unknown>): FieldError[];
  /** Top-level names whose values are never shown again. */
  secrets: readonly string[];
  /** Missing values go to the budget; text is null when it is to be made from html. */
  render(scope: Scope, options: RenderOptions): RenderedTemplate;
}

export interface RenderedTemplate {
  subject: string;
  html: string;
  text: string | null;
}

/** A node without stored templates. */
export const noTemplates: TemplateSource = {
  resolve: async (_scope, wanted) => {
    throw new RefusedError('template_not_found', `There is no template "${wanted.key}".`);
  },
};
