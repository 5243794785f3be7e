import { Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import { id, Mode, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { BOUNCED_EVENT } from '../messages/examples.ts';

export const Event = Type.Object(
  {
    id: id('evt', 'the event'),
    type: oneOf(EVENT_TYPES),
    api_version: Type.Literal('v1'),
    mode: Mode,
    created_at: Time,
    sequence: Type.Union([Type.Integer(), Type.Null()], {
      description:
        'Position among the events of the same recipient, counted from 1; use it for sorting.',
    }),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'See `webhooks` in this document for the fields of each type.',
    }),
  },
  {
    title: 'Event',
    examples: [BOUNCED_EVENT],
  },
);
