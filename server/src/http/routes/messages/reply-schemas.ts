import { Type } from 'typebox';
import { BOUNCE_REASONS } from '../../../events/event-types.ts';
import { oneOf } from '../../openapi/shared-schemas.ts';
import { BOUNCE, SMTP_REPLY } from './examples.ts';

/** What a receiver replied, as messages, attempts, events and suppressions show it. */

export const SmtpReply = Type.Object(
  {
    code: Type.Union([Type.Integer(), Type.Null()]),
    enhanced: Type.Union([Type.String(), Type.Null()]),
    text: Type.String(),
    mx: Type.Union([Type.String(), Type.Null()]),
    ip: Type.Union([Type.String(), Type.Null()]),
    tls: Type.Union([Type.String(), Type.Null()]),
  },
  {
    title: 'SmtpReply',
    description:
      'The receiver’s last reply and the server that sent it. For a bounce that arrived ' +
      'later: the text of the report, and the server that had accepted the message.',
    examples: [SMTP_REPLY],
  },
);

export const Bounce = Type.Object(
  {
    class: oneOf(['hard', 'soft', 'block'] as const, {
      description: 'Only `hard` adds a suppression.',
    }),
    reason: oneOf(BOUNCE_REASONS),
    explanation: Type.String({ description: 'An explanation for the sender.' }),
  },
  { title: 'Bounce', examples: [BOUNCE] },
);
