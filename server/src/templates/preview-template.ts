import type { FieldError } from '../lib/refused-error.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { textPartOf } from '../mail/html/html-to-text.ts';
import { pathUses } from './checks/path-uses.ts';
import type { CompiledTemplate } from './compile-template.ts';
import {
  type MissingValue,
  RenderBudget,
  type RenderLimits,
  type RenderWarning,
} from './template-engine.ts';
import { pathFromPointer } from './variables/variable-paths.ts';
import { sampleValues } from './variables/variables-schema.ts';

/** Renders a template as it would be sent, with given or sample values, and lists missing values. */

export interface PreviewRequest {
  /** Defaults to sample values. */
  variables?: Record<string, unknown>;
  /** Defaults to a sample contact that has every field. */
  contact?: Record<string, unknown>;
  locale?: string;
  timeZone?: string;
}

export interface Preview {
  /** The variant that was used; null for the template's base content. */
  locale: string | null;
  subject: string;
  html: string;
  text: string;
  missing: (MissingValue | Pick<MissingValue, 'path' | 'code' | 'detail'>)[];
  warnings: RenderWarning[];
}

export function previewTemplate(
  template: CompiledTemplate,
  request: PreviewRequest,
  nowMs: number,
  limits: Partial<RenderLimits> = {},
): Preview {
  const variant = template.inLocale(request.locale);
  const values = request.variables ?? sampleValues(template.variables);
  const errors = template.checkVariables(values);
  rejectInvalid(errors);
  const contact = request.contact ?? sampleContact(template, request.locale);
  const from = template.from?.email ?? SAMPLE_SENDER;
  const data = {
    ...template.withDefaults(values),
    contact,
    message: { id: SAMPLE_MESSAGE, to: contact.email ?? SAMPLE_CONTACT.email, from },
  };
  const budget = new RenderBudget(limits);
  const rendered = variant.render(data, {
    budget,
    locale: request.locale,
    timeZone: request.timeZone,
    nowMs,
  });
  return {
    locale: variant.locale ?? null,
    subject: rendered.subject,
    html: rendered.html,
    text: textPartOf(rendered),
    missing: [...budget.missing, ...missingButNotRendered(errors, budget.missing)],
    warnings: budget.warnings,
  };
}

/** The values of a test send that supplies none. */
export function exampleValues(template: CompiledTemplate): Record<string, unknown> {
  return sampleValues(template.variables);
}

/** Required values that this render did not reach. */
function missingButNotRendered(errors: readonly FieldError[], reported: readonly MissingValue[]) {
  return errors
    .map(({ pointer = '', detail }) => ({
      path: pathFromPointer(pointer.replace(VARIABLES, '')),
      code: 'missing_variable' as const,
      detail,
    }))
    .filter(({ path }) => !reported.some((one) => one.path === path));
}

function rejectInvalid(errors: readonly FieldError[]): void {
  const wrong = errors.filter(({ code }) => code === 'invalid_variable');
  if (wrong.length === 0) return;
  throw new RefusedError('validation_failed', 'The variables do not match the template.', {
    errors: wrong.map((error) => ({
      ...error,
      pointer: (error.pointer ?? '').replace(VARIABLES, '/variables'),
    })),
  });
}

const VARIABLES = /^\/template_variables/;
const SAMPLE_SENDER = 'sender@example.com';
const SAMPLE_MESSAGE = 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8';
const SAMPLE_CONTACT = { email: 'jane@example.com', first_name: 'Jane', last_name: 'Doe' };

/** A contact with a value for every field that the template uses. */
export function sampleContact(
  template: CompiledTemplate,
  locale: string | undefined,
): Record<string, unknown> {
  const variant = template.inLocale(locale);
  const { partials } = variant.written;
  const uses = variant.contents().flatMap((content) => pathUses(content, partials));
  const fields = uses
    .filter(({ path }) => path.startsWith('contact.'))
    .map(({ path, type }) => ({
      name: path.slice('contact.'.length),
      type,
      required: false,
    }));
  return { ...sampleValues(fields), ...SAMPLE_CONTACT };
}
