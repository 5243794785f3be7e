import type { Mode } from '../accounts/mode.ts';
import type { FieldError } from '../base/refused-error.ts';
import type { ParsedContent } from './substitution.ts';

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
  subject: ParsedContent;
  html: ParsedContent;
  text: ParsedContent | undefined;
  from: { email: string; name?: string } | undefined;
  replyTo: { email: string; name?: string }[];
  partials: ReadonlyMap<string, ParsedContent>;
  /** Values for what the caller left out, by top-level name. */
  defaults: Record<string, unknown>;
  /** Top-level names whose values are never shown again. */
  secrets: readonly string[];
  /** What is wrong with the given values, with pointers below /template_variables. */
  checkVariables(values: Record<string, unknown>): FieldError[];
}

/** A node without stored templates. */
export const noTemplates: TemplateSource = {
  resolve: async (_scope, wanted) => {
    const { RefusedError } = await import('../base/refused-error.ts');
    throw new RefusedError('template_not_found', `There is no template "${wanted.key}".`);
  },
};
