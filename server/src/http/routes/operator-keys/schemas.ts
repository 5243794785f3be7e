import { Type } from 'typebox';
import { Code, Password } from '../../openapi/account-fields.ts';
import { closed, id, NullableTime, singleLine, Time } from '../../openapi/shared-schemas.ts';

/** Operator keys, as instance owners manage them. */

const OPERATOR_KEY = {
  id: 'opk_01kc8wzq4he2x9v7n5m3k1j0h8',
  name: 'Billing system',
  token_hint: 'pr_operator_…x7Qd',
  allowed_ips: ['203.0.113.7'],
  created_at: '2026-11-01T08:00:00.000Z',
  expires_at: null,
  last_used_at: '2026-11-15T09:30:00.000Z',
  revoked_at: null,
};

const Fields = {
  id: id('opk', 'the key'),
  name: Type.String(),
  token_hint: Type.String({ description: 'The beginning and the end of the secret.' }),
  allowed_ips: Type.Array(Type.String(), {
    description: 'IP addresses or CIDR networks that the key can be used from. Empty: anywhere.',
  }),
  created_at: Time,
  expires_at: NullableTime,
  last_used_at: NullableTime,
  revoked_at: NullableTime,
};

export const OperatorKey = Type.Object(Fields, { title: 'OperatorKey', examples: [OPERATOR_KEY] });

export const OperatorKeyWithToken = Type.Object(
  {
    ...Fields,
    token: Type.String({ description: 'The secret. It is not stored and cannot be shown again.' }),
  },
  {
    title: 'OperatorKeyWithToken',
    // The checksum is invalid on purpose, so that it cannot be a real one.
    examples: [{ ...OPERATOR_KEY, token: 'pr_operator_9fKq2mZ7xW4cT1vB8nR5sL0dY3gH6jPaExample' }],
  },
);

export const CreateOperatorKey = closed(
  {
    name: singleLine({ maxLength: 100, examples: ['Billing system'] }),
    allowed_ips: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 100,
        description: 'IP addresses or CIDR networks that can use the key. Empty: anywhere.',
      }),
    ),
    expires_at: Type.Optional(
      Type.Union([Type.String({ format: 'date-time', maxLength: 64 }), Type.Null()]),
    ),
    password: Password,
    code: Type.Optional(Code),
  },
  { title: 'CreateOperatorKey' },
);
