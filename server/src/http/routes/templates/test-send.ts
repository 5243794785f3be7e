import { Type } from 'typebox';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { MessageAcceptor } from '../../../messages/accept/accept-message.ts';
import type { AcceptedMessage as Accepted } from '../../../messages/accept/accepted-message.ts';
import { Address, Locale, TimeZone, Variables } from '../../../messages/accept/send-request.ts';
import { exampleValues, sampleContact } from '../../../templates/preview-template.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { API_PREFIX } from '../../server/api-prefix.ts';
import { AcceptedMessage } from '../messages/schemas.ts';
import { SEND_PROBLEMS } from '../transactional/send-problems.ts';
import { PathKey, VersionName } from './schemas.ts';
import type { TemplateDeps } from './template-response.ts';

const TestSend = closed(
  {
    to: Address,
    from: Type.Optional(Address),
    version: Type.Optional(VersionName),
    variables: Type.Optional(Variables),
    locale: Type.Optional(Locale),
    time_zone: Type.Optional(TimeZone),
  },
  { title: 'TestSend' },
);

const OF_CONTENT = new Set(['content_conflict', 'message_id_in_use']);

export function testSendTemplate(deps: TemplateDeps & { acceptor: MessageAcceptor }): Operation {
  return operation(
    {
      id: 'testSendTemplate',
      method: 'POST',
      path: '/templates/{key}/test-send',
      tag: 'Templates',
      summary: 'Send a test of a template',
      description:
        'Sends the draft, unless a version is specified, to one address. Without `variables`, ' +
        'the example values are used, with sample values for unknown contact fields. A live ' +
        'key sends real mail from a sender domain of the workspace, like any send; with a test ' +
        'key the message goes to the test inbox. Also requires the scope `read:templates`.',
      scope: 'send:transactional',
      notAudited: 'sends',
      params: PathKey,
      body: TestSend,
      examples: {
        examples: {
          summary: 'The draft with example values',
          value: { to: { email: 'you@yourdomain.com' }, from: { email: 'hello@yourdomain.com' } },
        },
      },
      responses: {
        202: {
          description: 'Accepted and stored durably.',
          body: AcceptedMessage,
          headers: {
            Location: { description: 'URL of the message.', schema: Type.String() },
          },
        },
      },
      location: ({ id }: Accepted) => `${API_PREFIX}/messages/${id}`,
      problems: ['not_found', ...SEND_PROBLEMS.filter((code) => !OF_CONTENT.has(code))],
    },
    async (request) => {
      const {
        caller,
        params: { key },
        body,
      } = request;
      if (!caller.scopes.has('read:templates')) {
        const detail = 'A test send exposes a draft and requires read:templates too.';
        throw new RefusedError('insufficient_scope', detail, {
          fix: 'Create a key with read:templates at {app}/app/api-keys.',
        });
      }
      const { to, from, version = 'draft', locale, time_zone } = body;
      await deps.templates.get(caller, 'template', key);
      const template = await deps.templateCache.resolve(caller, { key, version });
      const { message } = await deps.acceptor.accept(
        caller,
        {
          to,
          template_key: key,
          template_version: version,
          template_variables: body.variables ?? exampleValues(template),
          ...(from === undefined ? {} : { from }),
          ...(locale === undefined ? {} : { locale }),
          ...(time_zone === undefined ? {} : { time_zone }),
        },
        { allowDrafts: true, sampleContact: sampleContact(template, locale) },
      );
      request.recordMessage(message.id);
      return { status: 202, body: message };
    },
  );
}
