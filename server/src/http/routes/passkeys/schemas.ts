import { Type } from 'typebox';
import { Code, Password } from '../../openapi/account-fields.ts';
import { closed, id, NullableTime, singleLine, Time } from '../../openapi/shared-schemas.ts';

/** Base64url, bounded: what a browser sends is far smaller. */
const Encoded = Type.String({ maxLength: 20_000 });

/** Browsers add fields over time, so only those that are verified are named. */
const OPEN = { additionalProperties: true };

const CREDENTIAL = {
  id: Type.String({ minLength: 1, maxLength: 2000 }),
  rawId: Type.String({ minLength: 1, maxLength: 2000 }),
  type: Type.Literal('public-key'),
  clientExtensionResults: Type.Object({}, OPEN),
};

const PasskeyName = singleLine({ maxLength: 100, examples: ['Laptop'] });

export const StartPasskey = closed(
  { password: Password, code: Type.Optional(Code) },
  { title: 'StartPasskey' },
);

export const PasskeyOptions = Type.Object(
  {
    options: Type.Object({ challenge: Type.String() }, OPEN),
  },
  {
    title: 'PasskeyOptions',
    description:
      'For `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`.',
    examples: [{ options: { challenge: 'pQ2nVx…', timeout: 300_000 } }],
  },
);

export const RegisterPasskey = closed(
  {
    name: PasskeyName,
    credential: Type.Object(
      {
        ...CREDENTIAL,
        response: Type.Object(
          {
            clientDataJSON: Encoded,
            attestationObject: Encoded,
            transports: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: 10 })),
          },
          OPEN,
        ),
      },
      { ...OPEN, description: 'The result of `toJSON()` of the new credential.' },
    ),
  },
  { title: 'RegisterPasskey' },
);

export const SignInWithPasskey = closed(
  {
    credential: Type.Object(
      {
        ...CREDENTIAL,
        response: Type.Object(
          {
            clientDataJSON: Encoded,
            authenticatorData: Encoded,
            signature: Encoded,
            userHandle: Type.Optional(Type.Union([Encoded, Type.Null()])),
          },
          OPEN,
        ),
      },
      { ...OPEN, description: 'The result of `toJSON()` of the credential.' },
    ),
  },
  { title: 'SignInWithPasskey' },
);

export const UpdatePasskey = closed({ name: PasskeyName }, { title: 'UpdatePasskey' });

export const PASSKEY = {
  id: 'psk_01kc8x3f7ye6qvj2m4n5p6q7r8',
  name: 'Laptop',
  backed_up: true,
  created_at: '2026-11-15T09:30:00.000Z',
  last_used_at: null,
};

export const Passkey = Type.Object(
  {
    id: id('psk', 'the passkey'),
    name: Type.String(),
    backed_up: Type.Boolean({
      description: 'Whether it is synchronized to other devices, as far as the authenticator says.',
    }),
    created_at: Time,
    last_used_at: NullableTime,
  },
  {
    title: 'Passkey',
    examples: [PASSKEY],
  },
);

/** Examples of what browsers send, shortened. */
export const CREDENTIAL_EXAMPLE = {
  id: 'Y3JlZGVudGlhbA',
  rawId: 'Y3JlZGVudGlhbA',
  type: 'public-key',
  clientExtensionResults: {},
};
