import type { Mode } from '../../accounts/tenant-scope.ts';
import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';
import type { Attachment } from '../../mail/mime/attachment.ts';
import { FieldErrors } from './field-errors.ts';
import { type Envelope, parseEnvelope } from './parse-envelope.ts';
import {
  isMessageIdHeader,
  parseAttachments,
  parseHeaders,
  parseMessageIdHeader,
  parseSchedule,
  type Schedule,
} from './parse-options.ts';
import type { SendLimits } from './send-limits.ts';
import type { SendRequest } from './send-request.ts';

/**
 * Checks everything that can be decided from the fields of a send alone, before lookups and
 * rendering. All errors are reported in one response.
 */

export interface CheckedFields {
  envelope: Envelope;
  /** Without Message-ID. */
  headers: [string, string][];
  messageId: string | null;
  attachments: Attachment[];
  schedule: Schedule;
}

export function checkFields(
  request: SendRequest,
  limits: SendLimits,
  nowMs: number,
  mode: Mode,
): CheckedFields {
  const errors = new FieldErrors();
  const fields = readFields(request, limits, nowMs, errors, mode);
  if (!hasRecipient(request)) errors.add(...RECIPIENT_MISSING);
  // Without a sender, that of the stream is used, which rendering finds.
  if (errors.all.length === 0 && (hasSender(request) || !contentError(request, limits)))
    return fields;
  throw validationError(request, limits, errors.all);
}

/**
 * Validates the remaining fields of a request whose `invalid` fields were removed because of their
 * shape. Without a mode, what depends on it is not checked.
 */
export function checkRemainingFields(
  invalid: ReadonlySet<string>,
  request: Partial<SendRequest>,
  limits: SendLimits,
  nowMs: number,
  mode: Mode | undefined,
): FieldError[] {
  const found = new FieldErrors();
  readFields(request, limits, nowMs, found, mode);
  const recipientsUnknown = RECIPIENT_FIELDS.some((field) => invalid.has(field));
  if (!recipientsUnknown && !hasRecipient(request)) found.add(...RECIPIENT_MISSING);
  const errors = [...found.all];
  const senderUnknown = invalid.has('from') || invalid.has('template_key');
  if (!senderUnknown && !hasSender(request)) errors.push(SENDER_MISSING);
  const contentUnknown = [...INLINE_FIELDS, ...TEMPLATE_FIELDS].some((field) => invalid.has(field));
  if (!contentUnknown) errors.push(...(contentError(request, limits)?.errors ?? []));
  return errors;
}

function readFields(
  request: Partial<SendRequest>,
  limits: SendLimits,
  nowMs: number,
  errors: FieldErrors,
  mode: Mode | undefined,
): CheckedFields {
  const envelope = parseEnvelope(request, limits.recipientsMax, errors, mode);
  const headers = parseHeaders(request, limits, errors);
  const messageId = parseMessageIdHeader(headers, errors);
  const attachments = parseAttachments(request, errors);
  const schedule = parseSchedule(request, limits, nowMs, errors);
  checkSubject(request.subject, errors);
  checkReservedRoots(request, errors);
  checkTimeZone(request.time_zone, errors);
  return {
    envelope,
    headers: messageId === null ? headers : headers.filter(([name]) => !isMessageIdHeader(name)),
    messageId,
    attachments,
    schedule,
  };
}

/** In values a line break becomes a space; in the subject itself it is a mistake of the caller. */
function checkSubject(subject: string | undefined, errors: FieldErrors): void {
  if (subject === undefined || !/[\r\n]/.test(subject)) return;
  errors.add('/subject', 'invalid_text', 'A subject cannot contain line breaks.');
}

function checkReservedRoots(request: Partial<SendRequest>, errors: FieldErrors): void {
  for (const field of ['variables', 'template_variables'] as const) {
    for (const root of ['contact', 'message']) {
      if (!request[field] || !Object.hasOwn(request[field], root)) continue;
      const detail = `"${root}" is set by the service. Choose another name.`;
      errors.add(`/${field}/${root}`, 'reserved_name', detail);
    }
  }
}

export function checkTimeZone(timeZone: string | undefined, errors: FieldErrors): void {
  if (timeZone === undefined) return;
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch {
    errors.add('/time_zone', 'invalid_value', 'Use an IANA time zone, such as Europe/Vienna.');
  }
}

const RECIPIENT_FIELDS = ['to', 'cc', 'bcc'] as const;
const RECIPIENT_MISSING = [
  '/to',
  'required',
  'At least one recipient is required, in to, cc or bcc.',
] as const;

/** A message with blind copies alone has no To header (RFC 5322 section 3.6). */
function hasRecipient(request: Partial<SendRequest>): boolean {
  return RECIPIENT_FIELDS.some((field) => {
    const given = request[field];
    return Array.isArray(given) ? given.length > 0 : given !== undefined;
  });
}

/** A template and a stream may define a sender. */
function hasSender({ from, template_key, stream }: Partial<SendRequest>): boolean {
  return from !== undefined || template_key !== undefined || stream !== undefined;
}

const REQUIRED = 'This field is required.';
const SENDER_MISSING: FieldError = { pointer: '/from', code: 'required', detail: REQUIRED };

function validationError(
  request: SendRequest,
  limits: SendLimits,
  fieldErrors: readonly FieldError[],
): RefusedError {
  const sender = hasSender(request) ? [] : [SENDER_MISSING];
  const content = contentError(request, limits);
  const errors = [...fieldErrors, ...sender, ...(content?.errors ?? [])];
  if (fieldErrors.length > 0 || !content) return invalidFields(errors);
  return new RefusedError(content.code, content.message, { errors });
}

const INLINE_FIELDS = ['subject', 'html', 'text', 'variables', 'placeholders'] as const;
const TEMPLATE_FIELDS = [
  'template_key',
  'template_variables',
  'template_version',
  'inline_css',
] as const;

export function contentKind(request: SendRequest, limits: SendLimits): 'inline' | 'template' {
  const error = contentError(request, limits);
  if (error) throw error;
  return request.template_key === undefined ? 'inline' : 'template';
}

function contentError(
  request: Partial<SendRequest>,
  { bodyRequired }: SendLimits,
): RefusedError | undefined {
  const inline = INLINE_FIELDS.filter((field) => isGiven(request[field]));
  const template = TEMPLATE_FIELDS.filter((field) => isGiven(request[field]));
  if (inline.length > 0 && template.length > 0) {
    return contentConflict(inline, template);
  }
  if (request.placeholders === false && isGiven(request.variables)) {
    const detail = 'variables cannot be used with "placeholders": false.';
    const errors = [{ pointer: '/variables', code: 'content_conflict', detail }];
    return new RefusedError('content_conflict', detail, { errors });
  }
  const missing = missingContent(request, template.length > 0);
  if (missing.length === 0) {
    const isEmpty = bodyRequired && template.length === 0 && hasEmptyBody(request);
    return isEmpty ? emptyBody(request) : undefined;
  }
  const names = missing.map((field) => (field === 'html' ? 'html or text' : field));
  const detail = `Missing ${names.join(' and ')}.`;
  const errors = missing.map((field) => ({
    pointer: `/${field}`,
    code: 'required',
    detail: field === 'html' ? 'Either html or text is required.' : REQUIRED,
  }));
  return new RefusedError('content_missing', detail, { errors });
}

function contentConflict(inline: string[], template: string[]): RefusedError {
  const values = misnamedValues(inline, template);
  const pointers = values ? [values.given] : [...inline, ...template];
  const detail = values
    ? `The values of ${values.content} are given in ${values.meant}, not in ${values.given}.`
    : 'Inline content and a template cannot be used together.';
  const errors = pointers.map((field) => ({
    pointer: `/${field}`,
    code: 'content_conflict',
    detail,
  }));
  const message = values ? detail : 'Use either subject and html or a template, not both.';
  return new RefusedError('content_conflict', message, { errors });
}

/** The only thing wrong is often the name of the field with the values. */
function misnamedValues(inline: string[], template: string[]) {
  if (inline.join() === 'variables' && template.includes('template_key')) {
    return { content: 'a template', given: 'variables', meant: 'template_variables' };
  }
  if (template.join() === 'template_variables') {
    return { content: 'inline content', given: 'template_variables', meant: 'variables' };
  }
  return undefined;
}

/**
 * Some generated clients send every default, which says nothing: `true` is that of both switches, and
 * an empty object that of variables.
 */
function isGiven(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== true;
}

/** What has only attachments is worth sending. An empty subject is valid too. */
export function hasEmptyBody({
  html,
  text,
  attachments = [],
}: {
  html?: string;
  text?: string | null;
  attachments?: readonly unknown[];
}): boolean {
  return isBlank(html) && isBlank(text) && attachments.length === 0;
}

function isBlank(text: string | null | undefined): boolean {
  return text === undefined || text === null || !/\S/.test(text);
}

/** Names the field that the caller gave. Content can also be empty because of the values in it. */
export function emptyBody(request: Partial<SendRequest>): RefusedError {
  const { template_key: template, html } = request;
  const field = template !== undefined ? 'template_key' : html === undefined ? 'text' : 'html';
  const detail =
    template === undefined
      ? 'The message has no content: html and text are empty.'
      : 'The message has no content: html and text of the template are empty with these values.';
  const errors = [{ pointer: `/${field}`, code: 'empty', detail }];
  return new RefusedError('content_missing', detail, { errors });
}

/** Inline content needs a body: HTML, text, or both. */
function missingContent(request: Partial<SendRequest>, isTemplate: boolean): string[] {
  if (isTemplate) return request.template_key === undefined ? ['template_key'] : [];
  const hasBody = request.html !== undefined || request.text !== undefined;
  return [...(request.subject === undefined ? ['subject'] : []), ...(hasBody ? [] : ['html'])];
}
