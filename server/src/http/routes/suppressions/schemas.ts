import { Type } from 'typebox';
import { STAGES } from '../../../messages/verdict/bounce-rules.ts';
import { SUPPRESSION_REASONS } from '../../../suppressions/suppression-store.ts';
import { exampleOf } from '../../openapi/schema-example.ts';
import { closed, id, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { BOUNCE_REPLY, MESSAGE_ID } from '../messages/examples.ts';
import { SmtpReply } from '../messages/reply-schemas.ts';
import { StreamKey } from '../streams/schemas.ts';

export const SuppressionReason = oneOf(SUPPRESSION_REASONS);

const Changeable = {
  reason: Type.Optional(SuppressionReason),
  note: Type.Optional(
    Type.Union([Type.String({ maxLength: 1000 }), Type.Null()], {
      description: 'A note of your own.',
    }),
  ),
  expires_at: Type.Optional(
    Type.Union([Type.String({ format: 'date-time', maxLength: 64 }), Type.Null()], {
      description: 'When the suppression ends. Null: never.',
    }),
  ),
};

export const CreateSuppression = closed(
  {
    email: Type.Optional(
      Type.String({ maxLength: 320, description: 'One address.', examples: ['jane@example.com'] }),
    ),
    domain: Type.Optional(
      Type.String({ maxLength: 255, description: 'Alternatively, every address of a domain.' }),
    ),
    stream: Type.Optional(
      Type.Union([StreamKey, Type.Null()], {
        description: 'Limits the suppression to a stream. Null: it applies to all mail.',
      }),
    ),
    ...Changeable,
  },
  { title: 'CreateSuppression' },
);

export const UpdateSuppression = closed(Changeable, {
  title: 'UpdateSuppression',
  minProperties: 1,
});

const NullableText = Type.Union([Type.String(), Type.Null()]);

const EVIDENCE = {
  message_id: MESSAGE_ID,
  smtp: BOUNCE_REPLY,
  rule: 'enhanced.unknown-mailbox',
  stage: 'rcpt',
};

const Evidence = Type.Object(
  {
    message_id: Type.String({ description: 'The message that bounced or was complained about.' }),
    smtp: Type.Optional(
      Type.Union([SmtpReply, Type.Null()], {
        description: 'The receiver’s reply, or for a later bounce the text of the report.',
      }),
    ),
    rule: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'For a bounce: the id of the bounce rule that decided. Null without a reply, for example if the domain does not exist.',
      }),
    ),
    stage: Type.Optional(
      Type.Union([oneOf(STAGES), Type.Null()], {
        description: 'For a bounce: the SMTP command that was rejected, if it is known.',
      }),
    ),
    report: Type.Optional(
      Type.Object(
        {
          id: Type.String(),
          reported_by: NullableText,
          remote_mta: Type.Optional(NullableText),
          previous_status: Type.Optional(Type.String()),
          feedback_type: Type.Optional(Type.String()),
        },
        { description: 'The report email. Absent if the receiver replied during delivery.' },
      ),
    ),
  },
  {
    title: 'SuppressionEvidence',
    examples: [EVIDENCE],
  },
);

export const Suppression = Type.Object(
  {
    id: id('sup', 'the suppression'),
    email: NullableText,
    domain: NullableText,
    stream: Type.Union([Type.String(), Type.Null()], {
      description: 'The stream that it is limited to. Null: it applies to all mail.',
    }),
    reason: SuppressionReason,
    evidence: Type.Union([Evidence, Type.Null()], {
      description: 'The bounce or complaint that caused the suppression; null if there was none.',
    }),
    note: NullableText,
    erased: Type.Boolean({
      description: 'Whether the address was erased, so that only a keyed hash of it is stored.',
    }),
    created_at: Time,
    expires_at: NullableTime,
  },
  {
    title: 'Suppression',
    examples: [
      {
        id: 'sup_01kc8x3f7ye6qvj2m4n5p6q7r8',
        email: 'jane@example.com',
        domain: null,
        stream: null,
        reason: 'hard_bounce',
        evidence: EVIDENCE,
        note: null,
        erased: false,
        created_at: '2026-11-15T09:30:00.412Z',
        expires_at: null,
      },
    ],
  },
);

export const SUPPRESSIONS_MAX = 1_000;

export const CreateSuppressions = closed(
  {
    suppressions: Type.Array(CreateSuppression, { minItems: 1, maxItems: SUPPRESSIONS_MAX }),
  },
  { title: 'CreateSuppressions' },
);

export const SuppressionResults = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        created: Type.Optional(
          Type.Boolean({ description: 'False if it was already suppressed.' }),
        ),
        suppression: Type.Optional(Suppression),
        error: Type.Optional(
          Type.Object({
            code: Type.String(),
            detail: Type.String(),
            errors: Type.Array(
              Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }),
            ),
          }),
        ),
      }),
      {
        description: 'A `suppression` or an `error` for each entry, in order.',
        examples: [
          [
            { index: 0, created: true, suppression: exampleOf(Suppression) },
            {
              index: 1,
              error: {
                code: 'validation_failed',
                detail: 'The address is not valid.',
                errors: [
                  { pointer: '/email', code: 'invalid_email', detail: 'The address is not valid.' },
                ],
              },
            },
          ],
        ],
      },
    ),
    created: Type.Integer({ minimum: 0, examples: [1] }),
    existing: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0, examples: [1] }),
  },
  { title: 'SuppressionResults' },
);
