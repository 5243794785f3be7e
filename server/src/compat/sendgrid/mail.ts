import { type Operation, type OperationResponse, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { Mail } from './mail-schema.ts';
import { locateErrors, toMessages } from './messages.ts';

/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send */

export function mailOperations({ call, clock, bodyBytesMax }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'sendgridSendMail',
        method: 'POST',
        path: '/v3/mail/send',
        tag: 'Sending',
        summary: 'Send mail',
        description:
          'Each personalization is a message of its own and counts as one. If one of them is ' +
          'refused, nothing is sent. `X-Message-Id` is the id of the first message.',
        scope: 'send:transactional',
        body: Mail,
        responses: {
          200: { description: 'Valid; nothing was sent, because of sandbox mode.' },
          202: { description: 'Accepted.' },
        },
        handlesIdempotency: true,
      },
      async (request) => {
        const { body: mail, caller } = request;
        const messages = await toMessages(mail, {
          nowMs: clock.now(),
          bytesMax: bodyBytesMax,
          workspaceId: caller.workspaceId,
        });
        if (mail.mail_settings?.sandbox_mode?.enable) {
          await validate(request, mail, messages);
          return { status: 200 };
        }
        return await send(request, mail, messages);
      },
    ),
  ];

  async function send(
    request: AnyRequest,
    mail: Mail,
    messages: readonly object[],
  ): Promise<OperationResponse> {
    const { idempotency } = request;
    try {
      if (messages.length === 1) {
        const input = { body: messages[0], idempotency };
        return accepted((await call(request, 'sendTransactional', input)).body.id);
      }
      const input = { body: { messages, mode: 'strict' }, idempotency };
      const { body, headers } = await call(request, 'sendBatch', input);
      return accepted(body.data[0].message.id, headers);
    } catch (error) {
      throw locateErrors(error, mail);
    }
  }

  async function validate(
    request: AnyRequest,
    mail: Mail,
    messages: readonly object[],
  ): Promise<void> {
    for (const [index, body] of messages.entries()) {
      try {
        await call(request, 'dryRunTransactional', { body });
      } catch (error) {
        throw locateErrors(error, mail, index);
      }
    }
  }
}

function accepted(id: string, headers: OperationResponse['headers'] = {}): OperationResponse {
  return { status: 202, headers: { ...headers, 'x-message-id': id } };
}
