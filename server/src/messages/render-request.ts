import type { Caller } from '../accounts/caller.ts';
import { encodeId } from '../base/ids.ts';
import { RefusedError } from '../base/refused-error.ts';
import type { NamedMailbox } from '../mail/address.ts';
import {
  parseContent,
  RenderBudget,
  renderContent,
  type Scope,
} from '../templates/substitution.ts';
import type { ResolvedTemplate } from '../templates/template-source.ts';
import { FieldErrors } from './field-errors.ts';
import { type Envelope, parseNamed } from './parse-envelope.ts';
import type { PrepareParts } from './prepare-message.ts';
import type { AddressInput, SendRequest } from './send-request.ts';

/** Words, final: what a request's content becomes once every placeholder has its value. */
export interface RenderedContent {
  template: { key: string; version: number | 'draft' } | null;
  from: NamedMailbox;
  replyTo: NamedMailbox[];
  headers: [string, string][];
  subject: string;
  shownSubject: string;
  html: string;
  text: string | null;
  /** Values that nobody may see again after the message is final. */
  secrets: string[];
}

interface Draft {
  id: string;
  envelope: Envelope;
  headers: [string, string][];
}

/**
 * Renders inline content or a stored template, with the sender's name, reply-to names and headers.
 * All that is missing anywhere is told at once, and nothing is accepted.
 */
export async function renderRequest(
  parts: PrepareParts,
  caller: Caller,
  request: SendRequest,
  draft: Draft,
): Promise<RenderedContent> {
  const kind = contentKind(request);
  const template = kind === 'template' ? await resolveTemplate(parts, caller, request) : undefined;
  const from = draft.envelope.from ?? defaultSender(template);
  const fields = kind === 'inline' ? inlineFields(request) : [];
  const names = namedFields(request, draft.headers, template);
  const usesContact =
    template?.usesContact ||
    fields.some(({ parsed }) => parsed.roots.has('contact')) ||
    names.some(({ parsed }) => parsed.roots.has('contact'));
  const contact = usesContact ? await contactOf(parts, caller, draft) : undefined;

  const values = (template ? request.template_variables : request.variables) ?? {};
  const scope: Scope = { ...values, contact, message: messageRoot(draft, from) };
  const budget = new RenderBudget();
  const options = {
    budget,
    locale: request.locale ?? contact?.locale ?? undefined,
    timeZone: checkedTimeZone(request.time_zone),
    nowMs: parts.clock.now(),
  };
  const named = new Map(
    names.map(({ name, parsed }) => [name, renderContent(parsed, scope, options)]),
  );
  const inline = new Map(
    fields.map(({ name, parsed }) => [name, renderContent(parsed, scope, options)]),
  );
  const words = template?.render(scope, options) ?? {
    subject: inline.get('subject') as string,
    html: inline.get('html') as string,
    text: inline.get('text') ?? null,
  };
  refuseMissing(budget);
  const secrets = secretsOf(template, values);
  return {
    template: template ? { key: template.key, version: template.version } : null,
    from: renamed(from, named.get('from.name')),
    replyTo: replyTo(draft.envelope, template).map((one, index) =>
      renamed(one, named.get(`reply_to.${index}.name`)),
    ),
    headers: draft.headers.map(([name, value]) => [name, named.get(`headers.${name}`) ?? value]),
    ...words,
    shownSubject: redacted(words.subject, secrets),
    secrets,
  };
}

function contentKind(request: SendRequest): 'inline' | 'template' {
  const inline = (['subject', 'html', 'text', 'variables'] as const).filter(
    (field) => request[field] !== undefined,
  );
  const template = (['template_key', 'template_variables', 'template_version'] as const).filter(
    (field) => request[field] !== undefined,
  );
  if (inline.length > 0 && template.length > 0) {
    const errors = [...inline, ...template].map((field) => ({
      pointer: `/${field}`,
      code: 'content_conflict',
      detail: 'Inline content and a template cannot be used together.',
    }));
    const detail = 'A message is made either from subject and html or from a template, not both.';
    throw new RefusedError('content_conflict', detail, { errors });
  }
  if (request.template_key !== undefined) return 'template';
  if (request.subject !== undefined && request.html !== undefined) return 'inline';
  const needed = template.length > 0 ? ['template_key'] : ['subject', 'html'];
  const errors = needed
    .filter((field) => request[field as keyof SendRequest] === undefined)
    .map((field) => ({
      pointer: `/${field}`,
      code: 'required',
      detail: 'This field is required.',
    }));
  const detail = 'Give subject and html, or template_key.';
  throw new RefusedError('content_missing', detail, { errors });
}

async function resolveTemplate(
  parts: PrepareParts,
  caller: Caller,
  request: SendRequest,
): Promise<ResolvedTemplate> {
  const { template_key: key, template_version: version, locale } = request;
  if (version === 'draft' && caller.mode === 'live') {
    const detail = 'Only a test key can send a draft.';
    throw new RefusedError('validation_failed', detail, {
      errors: [{ pointer: '/template_version', code: 'invalid_value', detail }],
    });
  }
  const template = await parts.templates.resolve(caller, { key: key as string, version, locale });
  const errors = template.checkVariables(request.template_variables ?? {});
  if (errors.length > 0) {
    const detail = 'template_variables does not fit the template.';
    throw new RefusedError('validation_failed', detail, { errors });
  }
  return template;
}

function defaultSender(template: ResolvedTemplate | undefined): NamedMailbox {
  const errors = new FieldErrors();
  const sender = template?.from && parseNamed(template.from, '/from', errors);
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

/** Names and header values that hold placeholders; most sends have none. */
function namedFields(
  request: SendRequest,
  headers: [string, string][],
  template: ResolvedTemplate | undefined,
) {
  const texts: [string, string | undefined][] = [
    ['from.name', (request.from ?? template?.from)?.name],
    ...replyInputs(request, template).map((one, index): [string, string | undefined] => [
      `reply_to.${index}.name`,
      one.name,
    ]),
    ...headers.map(([name, value]): [string, string] => [`headers.${name}`, value]),
  ];
  return texts.flatMap(([name, text]) => {
    if (text === undefined || !/[$\\{]/.test(text)) return [];
    return [{ name, parsed: parseContent(text, 'header', name) }];
  });
}

function replyInputs(
  request: SendRequest,
  template: ResolvedTemplate | undefined,
): readonly AddressInput[] {
  const given = request.reply_to ?? template?.replyTo ?? [];
  return Array.isArray(given) ? given : [given];
}

function replyTo(envelope: Envelope, template: ResolvedTemplate | undefined): NamedMailbox[] {
  if (envelope.replyTo.length > 0 || !template) return envelope.replyTo;
  const errors = new FieldErrors();
  return template.replyTo
    .map((one, index) => parseNamed(one, `/reply_to/${index}`, errors))
    .filter((one) => one !== undefined);
}

/** The record of the first recipient. A blank field is no value, so that `default` can help out. */
async function contactOf(
  parts: PrepareParts,
  caller: Caller,
  draft: Draft,
): Promise<{ [key: string]: unknown; locale: string | null }> {
  const { mailbox } = draft.envelope.recipients[0] as { mailbox: NamedMailbox };
  const contact = await parts.contact(caller.workspaceId, caller.mode, mailbox.key);
  if (!contact) return { email: mailbox.email, locale: null };
  const { attributes, ...own } = contact;
  return { ...attributes, ...own };
}

function messageRoot(draft: Draft, from: NamedMailbox): Record<string, string> {
  const to = draft.envelope.recipients[0] as { mailbox: NamedMailbox };
  return { id: encodeId('msg', draft.id), to: to.mailbox.email, from: from.email };
}

function checkedTimeZone(timeZone: string | undefined): string | undefined {
  if (timeZone === undefined) return undefined;
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return timeZone;
  } catch {
    const detail = 'Give an IANA time zone, such as Europe/Vienna.';
    throw new RefusedError('validation_failed', detail, {
      errors: [{ pointer: '/time_zone', code: 'invalid_value', detail }],
    });
  }
}

function refuseMissing(budget: RenderBudget): void {
  if (budget.missing.length === 0) return;
  const paths = [...new Set(budget.missing.map(({ path }) => path))];
  const errors = budget.missing.map(({ path, field, line, column, code, detail }) => ({
    pointer: `/${field.replaceAll('.', '/')}`,
    code,
    detail,
    path,
    line,
    column,
  }));
  throw new RefusedError('missing_variables', `There is no value for ${paths.join(', ')}.`, {
    errors,
  });
}

function secretsOf(
  template: ResolvedTemplate | undefined,
  values: Record<string, unknown>,
): string[] {
  return (template?.secrets ?? [])
    .map((name) => (Object.hasOwn(values, name) ? values[name] : undefined))
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String)
    .filter((value) => value !== '');
}

function redacted(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '[redacted]'), text);
}

function renamed(mailbox: NamedMailbox, name: string | undefined): NamedMailbox {
  return name === undefined ? mailbox : { ...mailbox, name };
}
