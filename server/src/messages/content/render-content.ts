import type { Caller } from '../../accounts/caller.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import type { MailboxContact } from '../../contacts/contact-source.ts';
import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { NamedMailbox } from '../../mail/address.ts';
import type { Stream } from '../../streams/stream.ts';
import { headerText } from '../../templates/engine/escape.ts';
import {
  ContentLimitError,
  hasPlaceholder,
  type ParsedContent,
  parseContent,
  RenderBudget,
  type RenderLimits,
  renderContent,
  type SharedWork,
  type TemplateData,
} from '../../templates/template-engine.ts';
import type {
  ResolvedTemplate,
  TemplateResolver,
  VariableValues,
} from '../../templates/template-resolver.ts';
import { contentKind } from '../accept/check-fields.ts';
import { FieldErrors } from '../accept/field-errors.ts';
import type { MessageStream } from '../accept/message-stream.ts';
import { type Envelope, parseNamedMailbox } from '../accept/parse-envelope.ts';
import type { SendLimits } from '../accept/send-limits.ts';
import type { SendRequest } from '../accept/send-request.ts';
import {
  IN_PLACE_LIMITS,
  runInContentThread,
  SMALL_CONTENT_CHARS_MAX,
  threadTemplate,
} from './content-thread.ts';
import {
  checkHeaders,
  fillHeaders,
  type HeaderField,
  type HeaderSources,
  headerFieldsWithPlaceholders,
  headerSources,
} from './header-fields.ts';
import { refuseMissingValues } from './missing-values.ts';
import { redactContent, secretsByName } from './redact-content.ts';
import type {
  ContactValues,
  RenderedContent,
  RenderedFields,
  RenderInput,
} from './rendered-content.ts';

export interface RenderParts {
  clock: Clock;
  limits: SendLimits;
  contact(workspaceId: string, mode: Mode, email: string): Promise<MailboxContact | undefined>;
  templates: TemplateResolver;
}

export interface RenderOptions {
  /** Allows a live caller to send a template's draft, as a test of it. */
  allowDrafts?: boolean;
  /** Values for placeholders that the recipient's contact does not provide. */
  sampleContact?: Record<string, unknown>;
  /** The rendering work left for the batch that the message is part of. */
  sharedWork?: SharedWork;
  /** The rendered content is returned to the caller, who may not be allowed to read contacts. */
  preview?: boolean;
}

export interface Draft extends RenderOptions {
  publicId: string;
  envelope: Envelope;
  headers: [string, string][];
  /** Its values for placeholders depend on the stream of the message. */
  stream: Pick<MessageStream, 'values' | 'resolve'>;
}

/**
 * Renders inline content or a stored template, with the sender's name, reply-to and headers. All
 * missing values are reported at once, and nothing is accepted.
 */
export function renderMessageContent(
  parts: RenderParts,
  caller: Caller,
  request: SendRequest,
  draft: Draft,
): RenderedContent | Promise<RenderedContent> {
  if (contentKind(request, parts.limits) === 'template') {
    return renderPlaceholders(parts, caller, request, draft, 'template');
  }
  if (draft.envelope.from) return renderInline(parts, caller, request, draft);
  const resolving = draft.stream.resolve(undefined);
  const render = (stream: Stream): RenderedContent | Promise<RenderedContent> =>
    renderInline(parts, caller, request, withSender(draft, stream, undefined));
  return resolving instanceof Promise ? resolving.then(render) : render(resolving);
}

function renderInline(
  parts: RenderParts,
  caller: Caller,
  request: SendRequest,
  draft: Draft,
): RenderedContent | Promise<RenderedContent> {
  const from = draft.envelope.from ?? defaultSender(undefined);
  const sources = headerSources(request, from, draft.headers, undefined);
  if (request.placeholders === false || hasNothingToRender(request, sources))
    return renderVerbatim(parts, request, sources);
  return renderPlaceholders(parts, caller, request, draft, 'inline');
}

/** With the sender of the stream, if neither the request nor the template names one. */
function withSender(draft: Draft, stream: Stream, template: ResolvedTemplate | undefined): Draft {
  const { fromEmail, fromName } = stream;
  if (draft.envelope.from || template?.from || fromEmail === null) return draft;
  const given = fromName === null ? { email: fromEmail } : { email: fromEmail, name: fromName };
  const from = parseNamedMailbox(given, '/from', new FieldErrors());
  return { ...draft, envelope: { ...draft.envelope, from } };
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
  parts: RenderParts,
  request: SendRequest,
  sources: HeaderSources,
): RenderedContent {
  const names = checkHeaders(fillHeaders(sources, NO_VALUES), sources, parts.limits);
  const { subject = '', html = '', text = null } = request;
  const fields = { ...names, subject: headerText(subject), html, text };
  return { template: null, templateStream: undefined, fields, redacted: fields };
}

const NO_VALUES: ReadonlyMap<string, string> = new Map();

async function renderPlaceholders(
  parts: RenderParts,
  caller: Caller,
  request: SendRequest,
  given: Draft,
  kind: 'inline' | 'template',
): Promise<RenderedContent> {
  const template =
    kind === 'template' ? await resolveTemplate(parts, caller, request, given) : undefined;
  const { attachments: _attachments, ...toRender } = request;
  const finding = given.stream.values(template?.stream);
  const provided = finding instanceof Promise ? await finding : finding;
  const resolving = given.stream.resolve(template?.stream);
  const stream = resolving instanceof Promise ? await resolving : resolving;
  const draft = withSender(given, stream, template);
  const input: RenderInput = {
    request: withValues(toRender, provided, template ? 'template_variables' : 'variables'),
    envelope: draft.envelope,
    headers: draft.headers,
    publicId: draft.publicId,
    limits: parts.limits,
    nowMs: parts.clock.now(),
    contact: undefined,
  };
  if (!template && isLarge(request)) {
    const contact = mayUseContact(request, draft.headers)
      ? await contactValues(parts, caller, draft)
      : undefined;
    return renderInThread(caller, { ...input, contact }, undefined, draft.sharedWork);
  }
  const fields = parseFields(input, template);
  if (usesContact(request, fields, template)) {
    if (hidesContact(caller, draft) && showsContact(fields, template)) throw contactHidden();
    input.contact = await contactValues(parts, caller, draft);
  }
  const { sharedWork } = draft;
  const sharedWorkLeft = sharedWork?.left ?? 0;
  try {
    return renderFields(input, fields, template, IN_PLACE_LIMITS, sharedWork);
  } catch (error) {
    if (!(error instanceof ContentLimitError)) throw error;
    if (sharedWork) sharedWork.left = sharedWorkLeft;
    return await renderInThread(caller, input, template, sharedWork);
  }
}

/** A caller's own value of the same name comes first. */
function withValues(
  request: SendRequest,
  provided: Record<string, string>,
  field: 'template_variables' | 'variables',
): SendRequest {
  if (Object.keys(provided).length === 0) return request;
  return { ...request, [field]: { ...provided, ...request[field] } };
}

function isLarge({ html = '', text = '' }: SendRequest): boolean {
  return html.length + text.length > SMALL_CONTENT_CHARS_MAX;
}

/** Whether a text mentions the contact, for content that is not parsed in this thread. */
function mayUseContact(request: SendRequest, headers: [string, string][]): boolean {
  const { html = '', text = '', subject = '', from, reply_to } = request;
  const others = JSON.stringify([subject, from, reply_to, headers]);
  return [html, text, others].some((one) => one.includes('contact'));
}

async function renderInThread(
  { workspaceId }: Caller,
  input: RenderInput,
  template: ResolvedTemplate | undefined,
  sharedWork: SharedWork | undefined,
): Promise<RenderedContent> {
  const { outcome, sharedWork: left = 0 } = await runInContentThread(workspaceId, 'render', {
    ...input,
    template: template && threadTemplate(template),
    sharedWork: sharedWork?.left,
  });
  if (sharedWork) sharedWork.left = left;
  if ('rendered' in outcome) return outcome.rendered;
  const { code, detail, ...more } = outcome.refusal;
  throw new RefusedError(code, detail, more);
}

/** The fields of a request that may contain placeholders, parsed. */
interface ParsedFields {
  variableErrors: FieldError[];
  from: NamedMailbox;
  content: { name: string; parsed: ParsedContent }[];
  sources: HeaderSources;
  headers: HeaderField[];
}

export function parseFields(
  { request, envelope, headers }: RenderInput,
  template: ResolvedTemplate | undefined,
): ParsedFields {
  const given = givenValues(request, template);
  const variableErrors = template ? checkVariables(template, given) : [];
  const from = envelope.from ?? defaultSender(template);
  const content = template ? [] : inlineFields(request);
  const sources = headerSources(request, from, headers, template);
  return { variableErrors, from, content, sources, headers: headerFieldsWithPlaceholders(sources) };
}

function givenValues(request: SendRequest, template: ResolvedTemplate | undefined): VariableValues {
  return (template ? request.template_variables : request.variables) ?? {};
}

function usesContact(
  { locale }: SendRequest,
  fields: ParsedFields,
  template: ResolvedTemplate | undefined,
): boolean {
  return (
    showsContact(fields, template) || ((template?.hasLocales ?? false) && locale === undefined)
  );
}

/** Whether fields of the contact can appear in the result. */
function showsContact(
  { content, headers }: ParsedFields,
  template: ResolvedTemplate | undefined,
): boolean {
  return (
    template?.usesContact ||
    [...content, ...headers].some(({ parsed }) => parsed.roots.has('contact'))
  );
}

export function renderFields(
  { request, envelope, publicId, limits, nowMs, contact }: RenderInput,
  { variableErrors, from, content, sources, headers }: ParsedFields,
  template: ResolvedTemplate | undefined,
  renderLimits: Partial<RenderLimits>,
  sharedWork: SharedWork | undefined,
): RenderedContent {
  const locale = request.locale ?? contact?.locale ?? undefined;
  const timeZone = request.time_zone;
  const variant = template?.inLocale(locale);
  const message = messageValues({ envelope, publicId }, from);
  const render = (values: VariableValues, budget: RenderBudget): RenderedFields => {
    const scope: TemplateData = { ...values, contact, message };
    const options = { budget, locale, timeZone, nowMs };
    const filled = new Map(
      headers.map(({ field, parsed }) => [field, renderContent(parsed, scope, options)]),
    );
    const inline = new Map(
      content.map(({ name, parsed }) => [name, renderContent(parsed, scope, options)]),
    );
    return {
      ...fillHeaders(sources, filled),
      ...(variant?.render(scope, { ...options, inlineCss: request.inline_css }) ?? {
        subject: inline.get('subject') as string,
        html: inline.get('html') as string,
        text: inline.get('text') ?? null,
      }),
    };
  };
  const given = givenValues(request, template);
  const values = template ? template.withDefaults(given) : given;
  const budget = new RenderBudget(renderLimits, sharedWork);
  const rendered = render(values, budget);
  refuseMissingValues(budget, template, variableErrors, recipientPointer(request));
  const checkedFields = { ...rendered, ...checkHeaders(rendered, sources, limits) };
  const secretSource = template?.hasSecrets
    ? template
    : request.secret_variables && secretsByName(request.secret_variables);
  return {
    template: template ? { key: template.key, version: template.version } : null,
    templateStream: template?.stream,
    fields: checkedFields,
    redacted: secretSource
      ? redactContent(secretSource, values, checkedFields, render, sharedWork)
      : checkedFields,
  };
}

/** The recipient whose values are inserted: the first one. */
function recipientPointer({ to, cc }: SendRequest): string {
  if (to && !Array.isArray(to)) return '/to/email';
  return `/${to?.length ? 'to' : cc?.length ? 'cc' : 'bcc'}/0/email`;
}

async function resolveTemplate(
  parts: RenderParts,
  caller: Caller,
  request: SendRequest,
  { allowDrafts: draftsAllowed }: Draft,
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
    ? 'Neither the template nor the stream has a default sender, so from is required.'
    : 'This field is required, because the stream has no default sender.';
  throw invalidFields([{ pointer: '/from', code: 'required', detail }]);
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

/** A dry run returns what it renders, so it needs the scope of reading contacts. */
function hidesContact({ scopes }: Caller, { preview }: RenderOptions): boolean {
  return preview === true && !scopes.has('read:contacts');
}

function contactHidden(): RefusedError {
  const detail =
    'The content uses fields of the recipient’s contact, and a dry run returns them. This requires read:contacts.';
  return new RefusedError('insufficient_scope', detail, {
    fix: 'Create a key with read:contacts at {app}/app/api-keys.',
  });
}

/** The contact of the first recipient. Blank fields count as missing, so that `default` applies. */
async function contactValues(
  parts: RenderParts,
  caller: Caller,
  draft: Draft,
): Promise<ContactValues> {
  const { mailbox } = draft.envelope.recipients[0] as { mailbox: NamedMailbox };
  const contact = hidesContact(caller, draft)
    ? undefined
    : await parts.contact(caller.workspaceId, caller.mode, mailbox.key);
  const { attributes, ...own } = contact ?? { email: mailbox.email, locale: null, attributes: {} };
  const { sampleContact } = draft;
  if (!sampleContact) return { ...attributes, ...own };
  const nonBlank = Object.entries({ ...attributes, ...own }).filter(
    ([, value]) => value !== null && value !== '',
  );
  return { locale: null, ...sampleContact, ...Object.fromEntries(nonBlank) };
}

function messageValues(
  draft: Pick<Draft, 'envelope' | 'publicId'>,
  from: NamedMailbox,
): Record<string, string> {
  const to = draft.envelope.recipients[0] as { mailbox: NamedMailbox };
  return { id: draft.publicId, to: to.mailbox.email, from: from.email };
}
