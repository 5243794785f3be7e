import { Type } from 'typebox';
import { type Operation, operation } from '../../http/operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { DomainPath, pathDomain } from './domain-path.ts';
import { MessageForm, type MessageFormBody, toOutgoing } from './message-form.ts';
import { MimeForm, toRawMessage } from './mime-message.ts';
import { sendOutgoing } from './send-outgoing.ts';

/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages */

const Sent = Type.Object({ id: Type.String(), message: Type.String() }, { title: 'MailgunSent' });

export function messageOperations(deps: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'mailgunSendMessage',
        method: 'POST',
        path: '/v3/{domain}/messages',
        tag: 'Sending',
        summary: 'Send a message',
        description:
          'The sender must be an address of `domain`. With `recipient-variables`, each recipient gets a message of their own; a batch that is accepted in several parts can be repeated safely for a day.',
        scope: 'send:transactional',
        params: DomainPath,
        body: MessageForm,
        acceptsForms: true,
        responses: { 200: { description: 'Accepted.', body: Sent } },
        handlesIdempotency: true,
      },
      async (request) => {
        const domain = pathDomain(request.params);
        const form = request.body as MessageFormBody;
        const outgoing = toOutgoing(form, domain, deps.clock.now());
        const id = await sendOutgoing(deps, request, outgoing, { domain, form });
        return { status: 200, body: { id: `<${id}>`, message: 'Queued. Thank you.' } };
      },
    ),
    operation(
      {
        id: 'mailgunSendMime',
        method: 'POST',
        path: '/v3/{domain}/messages.mime',
        tag: 'Sending',
        summary: 'Send a MIME message',
        description: 'The sender in the message must be an address of `domain`.',
        scope: 'send:transactional',
        params: DomainPath,
        body: MimeForm,
        acceptsForms: true,
        responses: { 200: { description: 'Accepted.', body: Sent } },
        handlesIdempotency: true,
      },
      async (request) => {
        const domain = pathDomain(request.params);
        const { idempotency, caller } = request;
        const form = request.body as Parameters<typeof toRawMessage>[0];
        const context = { domain, nowMs: deps.clock.now(), isLive: caller.mode === 'live' };
        const { body, messageId } = toRawMessage(form, context);
        const accepted = await deps.call(request, 'sendRaw', { body, idempotency });
        const id = messageId ?? `${accepted.body.id}@${domain}`;
        return { status: 200, body: { id: `<${id}>`, message: 'Queued. Thank you.' } };
      },
    ),
  ];
}
