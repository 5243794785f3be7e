import { Type } from 'typebox';
import { ACTOR_TYPES, AUDIT_OUTCOMES, type AuditOutcome } from '../../../logs/audit-store.ts';
import { id, Mode, oneOf, Time } from '../../openapi/shared-schemas.ts';

const nullableText = (description: string, example: string) =>
  Type.Union([Type.String({ description, examples: [example] }), Type.Null()]);

const FIELDS = {
  id: id('aud', 'the entry'),
  created_at: Time,
  mode: Type.Union([Mode, Type.Null()], {
    description: 'Null on the command line, and for changes to an account.',
  }),
  action: Type.String({
    description: 'The `operationId` in this document, or the command as typed.',
    examples: ['createApiKey'],
  }),
  target: nullableText(
    'The id or key of what was changed. Never an email address.',
    'key_01kc8x3f7ye6qvj2m4n5p6q7r8',
  ),
  request_id: nullableText('Null on the command line.', 'req_01kc8x3f7ye6qvj2m4n5p6q7r8'),
  ip: nullableText('Null on the command line.', '203.0.113.7'),
  user_agent: nullableText('Null on the command line.', 'Mozilla/5.0'),
  outcome: Type.Unsafe<AuditOutcome>({
    ...oneOf(AUDIT_OUTCOMES),
    description:
      '`unknown` if the server ended or lost the database while the change was made: it may or ' +
      'may not have happened. `details.started_at` is when it began.',
  }),
  details: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'What was sent: `body` and `query` of a request, `arguments` and `options` of a command. ' +
      'Secrets and email addresses are replaced, long values are cut.',
    examples: [{ body: { name: 'Web shop' } }],
  }),
};

const ACTOR = {
  type: oneOf(ACTOR_TYPES),
  id: nullableText('Null on the command line.', 'usr_01kc8x3f7ye6qvj2m4n5p6q7r8'),
};

export const AuditEntry = Type.Object(
  {
    ...FIELDS,
    actor: Type.Object({
      ...ACTOR,
      name: nullableText('The present name; null if it no longer exists.', 'Jane Doe'),
    }),
  },
  { title: 'AuditEntry' },
);

/** Events are never changed, so they contain no names. */
export const AuditEventEntry = Type.Object(
  { ...FIELDS, actor: Type.Object(ACTOR) },
  { title: 'AuditEventEntry' },
);
