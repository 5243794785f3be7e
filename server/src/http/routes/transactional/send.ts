import { Type } from 'typebox';
import type { Caller } from '../../../accounts/caller.ts';
import type { Accepted, MessageAcceptor } from '../../../messages/accept/accept-message.ts';
import { SendMessage } from '../../../messages/accept/send-request.ts';
import { type Operation, type OperationResponse, operation } from '../../operation.ts';
import { API_PREFIX } from '../../server/api-prefix.ts';
import { AcceptedMessage } from '../messages/schemas.ts';
import { REPLAYED, REPLAYED_HEADER, SEND_PROBLEMS } from './send-problems.ts';

export const SEND_EXAMPLES = {
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
};

export function sendTransactional(deps: { acceptor: MessageAcceptor }): Operation {
  return operation(
    {
      id: 'sendTransactional',
      method: 'POST',
      path: '/transactional/send',
      tag: 'Sending',
      summary: 'Send a message',
      description:
        'Accepts one message with inline content (`subject` with `html`, `text` or both) or from a stored ' +
        'template (`template_key` and `template_variables`). `202` means that the message is ' +
        'committed to durable storage and survives a server crash. Use `Idempotency-Key` to ' +
        'retry safely.',
      scope: 'send:transactional',
      notAudited: 'sends',
      body: SendMessage,
      semanticChecks: (body, invalid, caller?: Caller) =>
        deps.acceptor.checkRemainingFields(invalid, body, caller?.mode),
      examples: SEND_EXAMPLES,
      responses: SENT,
      problems: SEND_PROBLEMS,
      handlesIdempotency: true,
    },
    async (request) => {
      const { caller, body, idempotency } = request;
      return acceptedResponse(request, await deps.acceptor.accept(caller, body, { idempotency }));
    },
  );
}

/** The responses of every operation that sends one message. */
export const SENT = {
  202: {
    description: 'Accepted and stored durably.',
    body: AcceptedMessage,
    headers: {
      Location: { description: 'URL of the message.', schema: Type.String() },
      ...REPLAYED_HEADER,
    },
  },
};

export function acceptedResponse(
  request: { recordMessage(id: string): void },
  { message, json, replayed }: Accepted,
): OperationResponse {
  request.recordMessage(message.id);
  const location = `${API_PREFIX}/messages/${message.id}`;
  return {
    status: 202,
    body: json ?? message,
    headers: replayed ? { location, ...REPLAYED } : { location },
  };
}
