import { Type } from 'typebox';
import { id, Problem, Time } from '../../openapi/shared-schemas.ts';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

const FIELDS = {
  id: id('req', 'the request, as in `X-Request-Id`'),
  created_at: Time,
  method: Type.String({ examples: ['POST'] }),
  path: Type.String({
    description: 'Without the query. An email address in it is replaced by `[address]`.',
    examples: ['/api/v1/transactional/send'],
  }),
  operation: nullable(
    Type.String({
      description: 'The `operationId` in this document; null for an unknown path or method.',
      examples: ['sendTransactional'],
    }),
  ),
  status: Type.Integer({ description: 'The HTTP status.', examples: [422] }),
  duration_ms: Type.Integer({ examples: [12] }),
  actor: Type.String({
    description: 'Who sent it: the id of an API key, or of a signed-in user.',
    examples: ['key_01kc8x3f7ye6qvj2m4n5p6q7r8'],
  }),
  api_key_id: nullable(id('key', 'the API key; null for a signed-in user')),
  ip: Type.String({ examples: ['203.0.113.7'] }),
  user_agent: Type.String({ examples: ['postrider-client/0.1.0'] }),
  message_id: nullable(id('msg', 'the message that the request sent or concerns')),
  problem_code: nullable(
    Type.String({
      description: 'The `code` of the problem, if the request failed.',
      examples: ['validation_failed'],
    }),
  ),
};

const REQUEST = {
  id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
  created_at: '2026-11-17T09:30:00.000Z',
  method: 'POST',
  path: '/api/v1/transactional/send',
  operation: 'sendTransactional',
  status: 422,
  duration_ms: 3,
  actor: 'key_01kc8x3f7ye6qvj2m4n5p6q7r8',
  api_key_id: 'key_01kc8x3f7ye6qvj2m4n5p6q7r8',
  ip: '203.0.113.7',
  user_agent: 'postrider-client/0.1.0',
  message_id: null,
  problem_code: 'validation_failed',
};

const DETAIL = 'The field is required.';

const REQUEST_DETAILS = {
  ...REQUEST,
  problem: {
    type: 'https://mail.example.com/docs/errors/validation-failed',
    title: 'Validation failed',
    status: 422,
    code: 'validation_failed',
    detail: DETAIL,
    fix: 'Correct the fields listed in errors.',
    request_id: REQUEST.id,
    errors: [{ pointer: '/to', code: 'required', detail: DETAIL }],
  },
  query: null,
  body: { subject: 'Welcome', html: '<p>Hello</p>', variables: { first_name: '[redacted]' } },
};

export const LoggedRequest = Type.Object(FIELDS, { title: 'LoggedRequest', examples: [REQUEST] });

export const LoggedRequestDetails = Type.Object(
  {
    ...FIELDS,
    problem: nullable(Problem),
    query: nullable(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The query parameters of a failed request.',
      }),
    ),
    body: Type.Unknown({
      description:
        'The body of a failed request, without secrets: passwords, keys, and all values of ' +
        'template variables and headers are replaced by `[redacted]`. Long values are cut. Null ' +
        'if there was none or it was not JSON.',
    }),
  },
  { title: 'LoggedRequestDetails', examples: [REQUEST_DETAILS] },
);
