import { type Static, Type } from 'typebox';
import type { Caller } from '../../../accounts/caller.ts';
import type { ContactLookup } from '../../../contacts/contact-lookup.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { parseMailbox } from '../../../mail/address.ts';
import { checkTimeZone } from '../../../messages/accept/check-fields.ts';
import { FieldErrors } from '../../../messages/accept/field-errors.ts';
import { Locale, TimeZone, Variables } from '../../../messages/accept/send-request.ts';
import {
  IN_PLACE_LIMITS,
  runInContentThread,
  SMALL_CONTENT_CHARS_MAX,
  threadTemplate,
} from '../../../messages/content/content-thread.ts';
import { viewContent } from '../../../messages/content/content-view.ts';
import type { CompiledTemplate } from '../../../templates/compile-template.ts';
import {
  type Preview,
  type PreviewRequest,
  previewTemplate,
} from '../../../templates/preview-template.ts';
import { ContentLimitError } from '../../../templates/template-engine.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { Finding } from './finding-schemas.ts';
import { PathKey, VersionName } from './schemas.ts';
import type { TemplateDeps } from './template-response.ts';

const RenderTemplate = closed(
  {
    version: Type.Optional(VersionName),
    variables: Type.Optional(Variables),
    contact: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The fields of a contact: `first_name` and any others that placeholders use.',
        examples: [{ first_name: 'Jane' }],
      }),
    ),
    contact_email: Type.Optional(
      Type.String({
        format: 'email',
        maxLength: 320,
        description: 'A stored contact of the key’s mode. Also requires the scope `read:contacts`.',
      }),
    ),
    locale: Type.Optional(Locale),
    time_zone: Type.Optional(TimeZone),
  },
  { title: 'RenderTemplate' },
);

const RenderedTemplate = Type.Object(
  {
    version: VersionName,
    locale: Type.Union([Type.String(), Type.Null()], {
      description: 'The locale variant that was used. Null: the default content.',
    }),
    subject: Type.String(),
    html: Type.String(),
    text: Type.String(),
    size_bytes: Type.Integer({ description: 'The size of the composed message.' }),
    missing: Type.Array(
      Type.Object({
        path: Type.String({ description: 'The placeholder.' }),
        code: Type.String({ description: '`missing_variable` or `invalid_variable`.' }),
        detail: Type.String(),
        field: Type.Optional(Type.String()),
        line: Type.Optional(Type.Integer()),
        column: Type.Optional(Type.Integer()),
      }),
      { description: 'What would make a send with these values fail.' },
    ),
    warnings: Type.Array(Finding),
  },
  {
    title: 'RenderedTemplate',
    examples: [
      {
        version: 'draft',
        locale: null,
        subject: 'Welcome, Jane',
        html: '<p>Hello Jane, good to have you.</p>',
        text: 'Hello Jane, good to have you.',
        size_bytes: 1187,
        missing: [],
        warnings: [],
      },
    ],
  },
);

export interface RenderDeps extends TemplateDeps {
  clock: Clock;
  contactLookup: ContactLookup;
}

export function renderTemplate(deps: RenderDeps): Operation {
  return operation(
    {
      id: 'renderTemplate',
      method: 'POST',
      path: '/templates/{key}/render',
      tag: 'Templates',
      summary: 'Render a template',
      description:
        'Renders the draft unless a version is specified, without sending it. Without ' +
        '`variables`, the example values are used; without a contact, sample values are. ' +
        'Missing values are reported instead of failing the request.',
      scope: 'read:templates',
      notAudited: 'changes nothing',
      params: PathKey,
      body: RenderTemplate,
      examples: {
        values: { summary: 'With values', value: { variables: { first_name: 'Jane' } } },
        examples: { summary: 'With example values', value: { version: 'draft', locale: 'de' } },
      },
      responses: {
        200: { description: 'The rendered content.', body: RenderedTemplate },
      },
      problems: ['not_found', 'template_not_found', 'template_syntax', 'template_limit'],
    },
    async ({ caller, params: { key }, body }) => {
      await deps.templates.get(caller, 'template', key);
      const version = body.version ?? 'draft';
      const template = await deps.templateCache.resolve(caller, { key, version });
      const { time_zone: timeZone } = body;
      const errors = new FieldErrors();
      checkTimeZone(timeZone, errors);
      errors.throwIfAny();
      const contact = await contactOf(deps, caller, body);
      const preview = await previewOf(
        caller.workspaceId,
        template,
        {
          ...(body.variables === undefined ? {} : { variables: body.variables }),
          ...(contact === undefined ? {} : { contact }),
          ...(body.locale === undefined ? {} : { locale: body.locale }),
          ...(timeZone === undefined ? {} : { timeZone }),
        },
        deps.clock.now(),
      );
      const answer = await answerOf(caller.workspaceId, template, preview, deps.clock.now());
      return { status: 200, body: answer };
    },
  );
}

/** Large templates, and those that take long, are rendered in a thread. */
export async function previewOf(
  workspaceId: string,
  template: CompiledTemplate,
  request: PreviewRequest,
  nowMs: number,
): Promise<Preview> {
  const inThread = () =>
    runInContentThread(workspaceId, 'preview', {
      template: threadTemplate(template),
      request,
      nowMs,
    });
  if (template.weight > SMALL_CONTENT_CHARS_MAX) return inThread();
  try {
    return previewTemplate(template, request, nowMs, IN_PLACE_LIMITS);
  } catch (error) {
    if (error instanceof ContentLimitError) return await inThread();
    throw error;
  }
}

async function contactOf(
  deps: RenderDeps,
  caller: Caller,
  body: Static<typeof RenderTemplate>,
): Promise<Record<string, unknown> | undefined> {
  if (body.contact_email === undefined) return body.contact;
  if (!caller.scopes.has('read:contacts')) {
    const detail = 'Rendering with a stored contact exposes its fields and requires read:contacts.';
    throw new RefusedError('insufficient_scope', detail, {
      fix: 'Create a key with read:contacts at {app}/app/api-keys.',
    });
  }
  const parsed = parseMailbox(body.contact_email);
  const { workspaceId, mode } = caller;
  const found = parsed.ok
    ? await deps.contactLookup.contactFor(workspaceId, mode, parsed.mailbox.key)
    : undefined;
  if (found) {
    const { attributes, ...own } = found;
    return { ...attributes, ...own };
  }
  const detail = 'There is no contact with this address.';
  throw new RefusedError('validation_failed', detail, {
    errors: [{ pointer: '/contact_email', code: 'invalid_value', detail }],
  });
}

const SAMPLE_ID = '019ad1d1-bcfe-71af-bd8a-854aaaabb8e8';
const SAMPLE_ADDRESS = { email: 'jane@example.com' };

/** Gmail clips longer messages. */
const CLIPPED_BYTES = 102 * 1024;

async function answerOf(
  workspaceId: string,
  template: CompiledTemplate,
  preview: Preview,
  nowMs: number,
) {
  const { subject, html, text, locale, missing } = preview;
  const head = { from: SAMPLE_ADDRESS, to: [SAMPLE_ADDRESS], cc: [], reply_to: [], headers: [] };
  const content = { subject, html, text, head, attachments: [] };
  const warnings = preview.warnings.map(({ detail, ...rest }) => ({ ...rest, message: detail }));
  const bytes = Buffer.byteLength(html);
  const { size_bytes } = await viewContent(workspaceId, SAMPLE_ID, nowMs, content);
  return {
    version: template.version,
    locale,
    subject,
    html,
    text,
    size_bytes,
    missing,
    warnings: bytes > CLIPPED_BYTES ? [...warnings, clipped(bytes)] : warnings,
  };
}

function clipped(bytes: number) {
  const message = `The HTML is ${Math.ceil(bytes / 1024)} KB. Gmail clips messages larger than 102 KB.`;
  return { code: 'too_large', message, field: 'html', line: 1, column: 1 };
}
