import { Type } from 'typebox';
import { SCOPES } from '../../../accounts/scopes.ts';
import {
  closed,
  id,
  Mode,
  NOT_BLANK,
  NullableTime,
  oneOf,
  Time,
} from '../../openapi/shared-schemas.ts';
import { StreamKey } from '../streams/schemas.ts';

export const API_KEY = {
  id: 'key_01kc8wzq4he2x9v7n5m3k1j0h8',
  name: 'Web shop',
  mode: 'live',
  scopes: ['send:transactional', 'read:messages'],
  allowed_domains: ['yourdomain.com'],
  allowed_ips: ['203.0.113.0/24'],
  allowed_streams: [],
  token_hint: 'pr_live_…x7Qd',
  created_by: 'cli',
  created_at: '2026-11-01T08:00:00.000Z',
  expires_at: null,
  last_used_at: '2026-11-15T09:30:00.000Z',
  revoked_at: null,
};

/** The checksum of this token is invalid on purpose, so that it cannot be a real one. */
const TOKEN = 'pr_live_9fKq2mZ7xW4cT1vB8nR5sL0dY3gH6jPaExample';

const Scopes = Type.Array(oneOf(SCOPES), { minItems: 1, maxItems: SCOPES.length });

const Changeable = {
  scopes: Type.Optional(Scopes),
  allowed_domains: Type.Optional(
    Type.Array(Type.String({ maxLength: 255 }), {
      maxItems: 100,
      description:
        'Sender domains that the key is restricted to. Empty: all domains of the workspace.',
    }),
  ),
  allowed_ips: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: 100,
      description: 'IP addresses or CIDR networks that the key can be used from. Empty: anywhere.',
      examples: [['203.0.113.0/24']],
    }),
  ),
  allowed_streams: Type.Optional(
    Type.Array(StreamKey, {
      maxItems: 100,
      description:
        'Streams that the key is restricted to. The first is the default of sends that name ' +
        'neither a stream nor a template with one. Empty: all streams.',
      examples: [['transactional']],
    }),
  ),
  expires_at: Type.Optional(
    Type.Union([Type.String({ format: 'date-time', maxLength: 64 }), Type.Null()]),
  ),
};

const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  [NOT_BLANK]: true,
  examples: ['Web shop'],
});

export const CreateApiKey = closed(
  { name: Name, mode: Type.Optional(Mode), ...Changeable },
  { title: 'CreateApiKey' },
);

export const UpdateApiKey = closed(
  { name: Type.Optional(Name), ...Changeable },
  { title: 'UpdateApiKey', minProperties: 1 },
);

const Fields = {
  id: id('key', 'the key'),
  name: Type.String(),
  mode: Mode,
  scopes: Type.Array(Type.String()),
  allowed_domains: Type.Array(Type.String()),
  allowed_ips: Type.Array(Type.String()),
  allowed_streams: Type.Array(Type.String()),
  token_hint: Type.String({ description: 'Prefix and last four characters.' }),
  created_by: Type.String(),
  created_at: Time,
  expires_at: NullableTime,
  last_used_at: NullableTime,
  revoked_at: NullableTime,
};

export const ApiKey = Type.Object(Fields, { title: 'ApiKey', examples: [API_KEY] });

export const CurrentApiKey = Type.Object(
  {
    ...Fields,
    workspace: Type.Object({ id: id('wsp', 'the workspace'), name: Type.String() }),
  },
  {
    title: 'CurrentApiKey',
    examples: [
      { ...API_KEY, workspace: { id: 'wsp_01kc8x3f7ye6qvj2m4n5p6q7r8', name: 'Web shop' } },
    ],
  },
);

export const ApiKeyWithToken = Type.Object(
  { ...Fields, token: Type.String({ description: 'The secret. Shown only once.' }) },
  { title: 'ApiKeyWithToken', examples: [{ ...API_KEY, token: TOKEN }] },
);

export const RotatedApiKey = Type.Object(
  {
    ...Fields,
    token: Type.String({ description: 'The new secret. Shown only once.' }),
    previous_ends_at: Type.Unsafe<string>({
      ...Time,
      description: 'When the previous secret stops working.',
    }),
  },
  {
    title: 'RotatedApiKey',
    examples: [{ ...API_KEY, token: TOKEN, previous_ends_at: '2026-11-16T09:30:00.000Z' }],
  },
);

const SES_CREDENTIAL = {
  access_key_id: 'PRLIVE2M4N5P6Q7R7XYZ',
  created_by: 'usr_01kc8x3f7ye6qvj2m4n5p6q7r8',
  created_at: '2026-11-15T09:30:00.000Z',
};

const SesCredentialFields = {
  access_key_id: Type.String({ description: 'The public part, sent with every request.' }),
  created_by: Type.String(),
  created_at: Time,
};

const SesCredential = Type.Object(SesCredentialFields, {
  title: 'SesCredential',
  examples: [SES_CREDENTIAL],
});

export const SesCredentialList = Type.Object(
  { data: Type.Array(SesCredential) },
  { title: 'SesCredentialList', examples: [{ data: [SES_CREDENTIAL] }] },
);

export const SesCredentialWithSecret = Type.Object(
  {
    ...SesCredentialFields,
    secret_access_key: Type.String({ description: 'The secret. Shown only once.' }),
  },
  {
    title: 'SesCredentialWithSecret',
    examples: [
      { ...SES_CREDENTIAL, secret_access_key: 'pr_ses_9fKq2mZ7xW4cT1vB8nR5sL0dY3gH6jPaExample' },
    ],
  },
);
