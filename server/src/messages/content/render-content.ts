import type { Caller } from '../../accounts/caller.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { NamedMailbox } from '../../mail/address.ts';
import { headerText } from '../../templates/engine/escape.ts';
import {
  hasPlaceholder,
  parseContent,
  RenderBudget,
  renderContent,
  type TemplateData,
} from '../../templates/template-engine.ts';
import type { ResolvedTemplate, VariableValues } from '../../templates/template-resolver.ts';
import { contentKind } from '../accept/check-fields.ts';
import { FieldErrors } from '../accept/field-errors.ts';
import { type Envelope, parseNamedMailbox } from '../accept/parse-envelope.ts';
import type { PrepareOptions, PrepareParts } from '../accept/prepare-message.ts';
import type { SendRequest } from '../accept/send-request.ts';
import {
  checkHeaders,
  fillHeaders,
  type HeaderSources,
  type HeaderValues,
  headerFieldsWithPlaceholders,
  headerSources,
} from './header-fields.ts';
import { refuseMissingValues } from './missing-values.ts';
import { redactContent, secretsByName } from './redact-content.ts';

/** The content of a request after rendering. */
export interface RenderedContent {
  template: { key: string; version: number | 'draft' } | null;
  fields: RenderedFields;
  /** Without secret values; the same object as `fields` when there are none. */
  redacted: RenderedFields;
}

export interface RenderedFields extends HeaderValues {
  subject: string;
  html: string;
  text: string | null;
}

interface RenderInput extends PrepareOptions {
  publicId: string;
  envelope: Envelope;
  headers: [string, string][];
}

/**
 * Renders inline content or a stored template, with the sender's name, reply-to and headers. All
 * missing values are reported at once, and nothing is accepted.
 */
export function renderMessageContent(
  parts: PrepareParts,
  caller: Caller,
  request: SendRequest,
  draft: RenderInput,
): RenderedContent | Promise<RenderedContent> {
  const kind = contentKind(request);
  if (kind === 'inline') {
    const from = draft.envelope.from ?? defaultSender(undefined);
    const sources = headerSources(request, from, draft.headers, undefined);
    if (draft.verbatim || hasNothingToRender(request, sources))
      return renderVerbatim(parts, request, sources);
  }
  return renderPlaceholders(parts, caller, request, draft, kind);
}

/** Without placeholders neither the template engine nor the contact is needed. */
function hasNothingToRender(
  { subject, html, text, secret_variables }: SendRequest,
  names: HeaderSources,
) {
  const toFill = [html, subject, text].some((one) => one !== undefined && hasPlaceholder(one));
  return (
    !toFill && secret_variables === undefined && headerFieldsWithPlaceholders(names).length === 0
  );
}

/** Final content is checked like any other, but not rendered. */
function renderVerbatim(
  parts: PrepareParts,
  request: SendRequest,
  sources: HeaderSources,
): RenderedContent {
  const names = checkHeaders(fillHeaders(sources, NO_VALUES), sources, parts.limits);
  const { subject = '', html = '', text = null } = request;
  const fields = { ...names, subject: headerText(subject), html, text };
  return { template: null, fields, redacted: fields };
}

const NO_VALUES: ReadonlyMap<string, string> = new Map();

async function renderPlaceholders(
  parts: PrepareParts,
  caller: Caller,
  request: SendRequest,
  draft: RenderInput,
  kind: 'inline' | 'template',
): Promise<RenderedContent> {
  const template =
    kind === 'template' ? await resolveTemplate(parts, caller, request, draft) : undefined;
  const given = (template ? request.template_variables : request.variables) ?? {};
  const variableErrors = template ? checkVariables(template, given) : [];
  const from = draft.envelope.from ?? defaultSender(template);
  const contentFields = kind === 'inline' ? inlineFields(request) : [];
  const sources = headerSources(request, from, draft.headers, template);
  const headerFields = headerFieldsWithPlaceholders(sources);
  const usesContact =
    template?.usesContact ||
    (template?.hasLocales && request.locale === undefined) ||
    contentFields.some(({ parsed }) => parsed.roots.has('contact')) ||
    headerFields.some(({ parsed }) => parsed.roots.has('contact'));
  const contact = usesContact ? await contactValues(parts, caller, draft) : undefined;

  const locale = request.locale ?? contact?.locale ?? undefined;
  const timeZone = request.time_zone;
  const variant = template?.inLocale(locale);
  const message = messageValues(draft, from);
  const render = (values: VariableValues, budget: RenderBudget): RenderedFields => {
    const scope: TemplateData = { ...values, contact, message };
    const options = { budget, locale, timeZone, nowMs: parts.clock.now() };
    const filled = new Map(
      headerFields.map(({ field, parsed }) => [field, renderContent(parsed, scope, options)]),
    );
    const inline = new Map(
      contentFields.map(({ name, parsed }) => [name, renderContent(parsed, scope, options)]),
    );
    return {
      ...fillHeaders(sources, filled),
      ...(variant?.render(scope, options) ?? {
        subject: inline.get('subject') as string,
        html: inline.get('html') as string,
        text: inline.get('text') ?? null,
      }),
    };
  };
  const values = template ? template.withDefaults(given) : given;
  const budget = new RenderBudget({}, draft.sharedWork);
  const rendered = render(values, budget);
  refuseMissingValues(budget, template, variableErrors);
  const checkedFields = { ...rendered, ...checkHeaders(rendered, sources, parts.limits) };
  const secretSource = template?.hasSecrets
    ? template
    : request.secret_variables && secretsByName(request.secret_variables);
  return {
    template: template ? { key: template.key, version: template.version } : null,
    fields: checkedFields,
    redacted: secretSource
      ? redactContent(secretSource, values, checkedFields, render, draft.sharedWork)
      : checkedFields,
  };
}

async function resolveTemplate(
  parts: PrepareParts,
  caller: Caller,
  request: SendRequest,
  { allowDrafts: draftsAllowed }: RenderInput,
): Promise<ResolvedTemplate> {
  const { template_key: key, template_version: version } = request;
  if (version === 'draft' && caller.mode === 'live' && !draftsAllowed) {
    const detail = 'Only a test key can send a draft.';
    throw new RefusedError('validation_failed', detail, {
      errors: [{ pointer: '/template_version', code: 'invalid_value', detail }],
    });
  }
  try {
    return await parts.templates.resolve(caller, { key: key as string, version });
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== 'template_not_found') throw error;
    const pointer = version === undefined ? '/template_key' : '/template_version';
    throw new RefusedError(error.code, error.message, {
      errors: [{ pointer, code: error.code, detail: error.message }],
    });
  }
}

/**
 * Values of the wrong type are rejected at once. Missing ones are reported after rendering, which
 * knows where they are used.
 */
function checkVariables(template: ResolvedTemplate, values: VariableValues): FieldError[] {
  const errors = template.checkVariables(values);
  if (errors.every(({ code }) => code === 'missing_variable')) return errors;
  const detail = 'template_variables does not match the template.';
  throw new RefusedError('validation_failed', detail, { errors });
}

function defaultSender(template: ResolvedTemplate | undefined): NamedMailbox {
  const errors = new FieldErrors();
  const sender = template?.from && parseNamedMailbox(template.from, '/from', errors);
  if (sender) return sender;
  const detail = template
    ? 'The template has no default sender, so from is required.'
    : 'This field is required.';
  throw new RefusedError('validation_failed', `/from: ${detail}`, {
    errors: [{ pointer: '/from', code: 'required', detail }],
  });
}

function inlineFields(request: SendRequest) {
  const fields = [
    { name: 'subject', parsed: parseContent(request.subject ?? '', 'header', 'subject') },
    { name: 'html', parsed: parseContent(request.html ?? '', 'html', 'html') },
  ];
  if (request.text !== undefined) {
    fields.push({ name: 'text', parsed: parseContent(request.text, 'text', 'text') });
  }
  return fields;
}

/** The contact of the first recipient. Blank fields count as missing, so that `default` applies. */
async function contactValues(
  parts: PrepareParts,
  caller: Caller,
  draft: RenderInput,
): Promise<{ [key: string]: unknown; locale: string | null }> {
  const { mailbox } = draft.envelope.recipients[0] as { mailbox: NamedMailbox };
  const contact = await parts.contact(caller.workspaceId, caller.mode, mailbox.key);
  const { attributes, ...own } = contact ?? { email: mailbox.email, locale: null, attributes: {} };
  const { sampleContact } = draft;
  if (!sampleContact) return { ...attributes, ...own };
  const nonBlank = Object.entries({ ...attributes, ...own }).filter(
    ([, value]) => value !== null && value !== '',
  );
  return { locale: null, ...sampleContact, ...Object.fromEntries(nonBlank) };
}

function messageValues(draft: RenderInput, from: NamedMailbox): Record<string, string> {
  const to = draft.envelope.recipients[0] as { mailbox: NamedMailbox };
  return { id: draft.publicId, to: to.mailbox.email, from: from.email };
}
