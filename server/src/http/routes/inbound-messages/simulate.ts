import { Type } from 'typebox';
import type {
  InboundSimulator,
  SimulateInboundMessage,
} from '../../../inbound/inbound-simulator.ts';
import { publicInboundMessage } from '../../../inbound/public-inbound-message.ts';
import { type Operation, operation } from '../../operation.ts';
import { API_PREFIX } from '../../server/api-prefix.ts';
import { SimulateInboundMessage as Body, InboundMessageSummary } from './schemas.ts';

export function simulateInboundMessage(deps: { inboundSimulator: InboundSimulator }): Operation {
  return operation(
    {
      id: 'simulateInboundMessage',
      method: 'POST',
      path: '/inbound-messages/simulate',
      tag: 'Inbound messages',
      summary: 'Simulate an inbound message',
      description:
        'Stores a message in test mode as if it had arrived over SMTP, and sends its event to ' +
        'webhooks of test mode. The recipient can be any address at a domain of the workspace, ' +
        'whether it is verified and receives mail or not. `authentication` is null, because no ' +
        'server has delivered the message.',
      scope: 'write:inbound_messages',
      mode: 'test',
      notAudited: 'sends',
      body: Body,
      examples: {
        reply: {
          summary: 'A reply',
          value: {
            from: { email: 'jane@example.com', name: 'Jane' },
            to: { email: 'ticket+42@reply.yourdomain.com' },
            subject: 'Re: Your order',
            text: 'It has arrived, thank you.',
          },
        },
        file: {
          summary: 'With an attachment',
          value: {
            from: { email: 'jane@example.com' },
            to: { email: 'invoices@reply.yourdomain.com' },
            subject: 'Invoice',
            text: 'See attachment.',
            attachments: [{ filename: 'invoice.pdf', content: 'JVBERi0xLjQK' }],
          },
        },
      },
      responses: {
        201: {
          description: 'The inbound message.',
          body: InboundMessageSummary,
          headers: {
            Location: { description: 'URL of the inbound message.', schema: Type.String() },
          },
        },
      },
      location: ({ id }: { id: string }) => `${API_PREFIX}/inbound-messages/${id}`,
      problems: ['rate_limited', 'quota_exceeded'],
    },
    async ({ caller, body }) => {
      const message = await deps.inboundSimulator.simulate(caller, body as SimulateInboundMessage);
      return { status: 201, body: publicInboundMessage(message) };
    },
  );
}
