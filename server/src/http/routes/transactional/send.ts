import { Type } from 'typebox';
import type { MessageAcceptor } from '../../../messages/accept/accept-message.ts';
import type { SendRequest } from '../../../messages/accept/send-request.ts';
import { SendMessage } from '../../../messages/accept/send-request.ts';
import { previewMessage } from '../../../messages/content/content-view.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { API_PREFIX } from '../../server/api-prefix.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { AcceptedMessage, MessageContent } from '../messages/schemas.ts';
import { REPLAYED, REPLAYED_HEADER, SEND_PROBLEMS } from './send-problems.ts';

export function sendTransactional(deps: {
  acceptor: MessageAcceptor;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'sendTransactional',
      method: 'POST',
      path: '/transactional/send',
      tag: 'Sending',
      summary: 'Send a message',
      description:
        'Accepts one message with inline content (`subject` and `html`) or from a stored ' +
        'template (`template_key` and `template_variables`). `202` means that the message is ' +
        'committed to durable storage and survives a server crash. Use `Idempotency-Key` to ' +
        'retry safely.',
      scope: 'send:transactional',
      query: closed({
        dry_run: Type.Optional(
          Type.Boolean({
            description: 'Validate and render without storing or sending; returns 200.',
          }),
        ),
      }),
      body: SendMessage,
      semanticChecks: (body, invalid) => deps.acceptor.checkRemainingFields(invalid, body),
      examples: {
        inline: {
          summary: 'Inline content',
          value: {
            to: { email: 'jane@example.com' },
            from: { email: 'hello@yourdomain.com', name: 'Your App' },
            subject: 'Welcome, ${first_name}',
            html: '<p>Hello {{ first_name }}, good to have you.</p>',
            variables: { first_name: 'Jane' },
          },
        },
        template: {
          summary: 'A stored template',
          value: {
            to: { email: 'jane@example.com' },
            from: { email: 'hello@yourdomain.com' },
            template_key: 'welcome',
            template_variables: { first_name: 'Jane' },
          },
        },
      },
      responses: {
        200: { description: 'The dry run succeeded; nothing was stored.', body: MessageContent },
        202: {
          description: 'Accepted and stored durably.',
          body: AcceptedMessage,
          headers: {
            Location: { description: 'URL of the message.', schema: Type.String() },
            ...REPLAYED_HEADER,
          },
        },
      },
      problems: [...SEND_PROBLEMS, 'quota_exceeded'],
      handlesIdempotency: true,
    },
    async (call) => {
      const { caller, idempotency } = call;
      const request = call.body as SendRequest;
      if (call.query.dry_run) {
        await deps.largeAnswers.acquire(caller.workspaceId, call.signal);
        const message = await deps.acceptor.dryRun(caller, request);
        return { status: 200, body: await previewMessage(message) };
      }
      const { message, replayed } = await deps.acceptor.accept(caller, request, { idempotency });
      const location = `${API_PREFIX}/messages/${message.id}`;
      return {
        status: 202,
        body: message,
        headers: replayed ? { location, ...REPLAYED } : { location },
      };
    },
  );
}
