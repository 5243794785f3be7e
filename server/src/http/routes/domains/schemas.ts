import { Type } from 'typebox';
import { DOMAIN_STATUSES, KEY_SLOTS, TLS_SETTINGS } from '../../../domains/domain.ts';
import { closed, id, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';

const Tracking = {
  opens: Type.Boolean({
    description: 'Whether opens are tracked unless the send specifies otherwise.',
  }),
  clicks: Type.Boolean({
    description: 'Whether clicks are tracked unless the send specifies otherwise.',
  }),
};

const Tls = oneOf(TLS_SETTINGS, {
  description:
    '`opportunistic`: use TLS if the receiver supports it. `required`: deliver only over TLS.',
});

const Host = Type.String({ minLength: 1, maxLength: 253 });

const Changeable = {
  tls: Type.Optional(Tls),
  tracking: Type.Optional(
    closed({ opens: Type.Optional(Tracking.opens), clicks: Type.Optional(Tracking.clicks) }),
  ),
  tracking_host: Type.Optional(
    Type.Union([Host, Type.Null()], {
      description:
        'A host below the domain for tracked links, used once its record is found. Null: the host of this server.',
      examples: ['links.yourdomain.com'],
    }),
  ),
};

export const CreateDomain = closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'The domain of your From addresses. Each subdomain is a separate domain.',
      examples: ['yourdomain.com'],
    }),
    return_path_host: Type.Optional(
      Type.Unsafe<string>({
        ...Host,
        description: 'A host below the domain that receives bounces. Default: `bounce.`',
        examples: ['bounce.yourdomain.com'],
      }),
    ),
    ...Changeable,
  },
  { title: 'CreateDomain' },
);

const Receiving = Type.Boolean({
  description:
    'Whether mail to any address at the domain is stored as inbound messages. The domain then has one more record to publish.',
});

export const UpdateDomain = closed(
  { ...Changeable, receiving: Type.Optional(Receiving) },
  { title: 'UpdateDomain', minProperties: 1 },
);

const RECORD = {
  purpose: 'dkim',
  type: 'TXT',
  name: 'pr-3f9c21a07b-rsa._domainkey.yourdomain.com',
  value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA…',
  required: true,
  explanation: 'The public key that receivers use to verify our DKIM signatures.',
  status: 'missing',
  found: [],
  mistakes: [
    {
      code: 'name_doubled',
      detail:
        'The record was found at pr-3f9c21a07b-rsa._domainkey.yourdomain.com.yourdomain.com: the DNS provider appends the domain automatically. Enter only pr-3f9c21a07b-rsa._domainkey as the name.',
    },
  ],
};

const Looked = {
  purpose: oneOf([
    'ownership',
    'dkim',
    'return_path',
    'return_path_spf',
    'dmarc',
    'tracking',
    'receiving',
  ] as const),
  type: oneOf(['TXT', 'MX', 'CNAME'] as const),
  name: Type.String({ description: 'The full name, without a trailing dot.' }),
  value: Type.String({ description: 'The value to publish.' }),
  status: oneOf(['pending', 'found', 'missing', 'wrong', 'lookup_failed'] as const, {
    description:
      '`pending`: not checked yet. `lookup_failed`: the DNS did not respond, which says nothing about the record.',
  }),
  found: Type.Array(Type.String(), { description: 'The values currently published at the name.' }),
  mistakes: Type.Array(
    Type.Object({
      code: Type.String({ description: 'A code for the mistake, such as `name_doubled`.' }),
      detail: Type.String({ description: 'What is wrong and how to fix it.' }),
    }),
    { description: 'Why the record is wrong. A record that was found can have remarks too.' },
  ),
};

const DomainRecord = Type.Object(
  {
    ...Looked,
    required: Type.Boolean({ description: 'Whether the domain needs the record to send.' }),
    explanation: Type.String({ description: 'The purpose of the record.' }),
  },
  { title: 'DomainRecord', examples: [RECORD] },
);

const { required: _, explanation: __, ...MISSING } = RECORD;

export const MissingRecord = Type.Object(Looked, { title: 'MissingRecord', examples: [MISSING] });

const DkimKey = Type.Object(
  {
    selector: Type.String(),
    algorithm: oneOf(['rsa', 'ed25519'] as const),
    slot: oneOf(KEY_SLOTS, {
      description:
        '`current` signs, `next` is published in advance, `retired` stays published while mail signed with it is in transit.',
    }),
    created_at: Time,
    retired_at: NullableTime,
  },
  { title: 'DkimKey' },
);

const KEY = {
  selector: 'pr-3f9c21a07b-rsa',
  algorithm: 'rsa',
  slot: 'current',
  created_at: '2026-11-15T09:30:00.000Z',
  retired_at: null,
};

export const Domain = Type.Object(
  {
    id: id('dom', 'the domain'),
    name: Type.String(),
    status: oneOf(DOMAIN_STATUSES, {
      description:
        '`pending`: records are missing. `verified`: it can send. `degraded`: a record disappeared, but it can still send. `failed`: records were missing for too long and sending stopped.',
    }),
    trusted: Type.Boolean({
      description: 'Whether the operator has vouched for the domain in place of DNS records.',
    }),
    records: Type.Array(DomainRecord, { description: 'The DNS records to publish.' }),
    dkim_keys: Type.Array(DkimKey),
    return_path_host: Type.String({ description: 'The host that receives bounces.' }),
    tracking_host: Type.Union([Type.String(), Type.Null()]),
    tls: Tls,
    tracking: Type.Object(Tracking, { description: 'Defaults for sends.' }),
    receiving: Receiving,
    created_at: Time,
    verified_at: NullableTime,
    checked_at: NullableTime,
    next_check_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'When the records will next be checked automatically.',
    }),
    sending_stops_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'When a degraded domain will stop sending unless its records reappear.',
    }),
  },
  {
    title: 'Domain',
    examples: [
      {
        id: 'dom_01kc8x3f7ye6qvj2m4n5p6q7r8',
        name: 'yourdomain.com',
        status: 'pending',
        trusted: false,
        records: [RECORD],
        dkim_keys: [KEY],
        return_path_host: 'bounce.yourdomain.com',
        tracking_host: null,
        tls: 'opportunistic',
        tracking: { opens: false, clicks: false },
        receiving: false,
        created_at: '2026-11-15T09:30:00.000Z',
        verified_at: null,
        checked_at: '2026-11-15T09:31:00.000Z',
        next_check_at: '2026-11-15T09:32:00.000Z',
        sending_stops_at: null,
      },
    ],
  },
);
