import { Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import { id, Mode, oneOf, Time } from './common.ts';

export const Event = Type.Object(
  {
    id: id('evt', 'the event'),
    type: oneOf(EVENT_TYPES),
    api_version: Type.Literal('v1'),
    mode: Mode,
    created_at: Time,
    sequence: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The place among the events of the same recipient, from 1, to sort by.',
    }),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'See `webhooks` of this document for the fields of each type.',
    }),
  },
  {
    title: 'Event',
    examples: [
      {
        id: 'evt_01kc8x3f7ye6qvj2m4n5p6q7r8',
        type: 'message.bounced',
        api_version: 'v1',
        mode: 'live',
        created_at: '2026-11-15T09:30:00.000Z',
        sequence: 2,
        data: {
          message_id: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
          recipient: 'jane@example.com',
          attempt: 1,
          metadata: {},
          tags: [],
          bounce: {
            class: 'hard',
            reason: 'unknown_mailbox',
            explanation: 'The mailbox does not exist.',
          },
          smtp: {
            code: 550,
            enhanced: '5.1.1',
            text: 'No such user',
            mx: 'mx1.example.com',
            ip: '192.0.2.1',
            tls: 'TLSv1.3',
          },
        },
      },
    ],
  },
);
