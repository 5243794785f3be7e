import type { TSchema } from 'typebox';
import { type Right, ROLES, rightsOf } from '../../accounts/roles.ts';
import type { Operation, ResponseSpec } from '../operation.ts';
import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import type { ComponentSchemas } from './component-schemas.ts';
import { exampleOf } from './schema-example.ts';
import { Problem } from './shared-schemas.ts';

/**
 * The responses of operations in the OpenAPI document. Many operations share the same problems,
 * so each set of problems is listed once in `components` and referenced.
 */

type Json = Record<string, unknown>;
type Spec = Operation['spec'];

export function responsesOf(spec: Spec, schemas: ComponentSchemas): Json {
  const responses: Json = {};
  for (const [status, response] of Object.entries(spec.responses)) {
    responses[status] = responseOf(response, spec.scope === 'public', schemas);
  }
  for (const [status, codes] of problemsByStatus(spec)) {
    responses[status] = { $ref: `#/components/responses/${responseName(codes, spec)}` };
  }
  return responses;
}

/** Returns the shared parts for `components`. */
export function sharedComponents(
  operations: readonly Operation[],
  baseUrl: string,
  schemas: ComponentSchemas,
): { headers: Json; examples: Json; responses: Json } {
  const responses = operations.flatMap(({ spec }) =>
    problemsByStatus(spec).map(([status, codes]) => [
      responseName(codes, spec),
      problemResponse(status, codes, spec, schemas),
    ]),
  );
  return {
    headers: SHARED_HEADERS,
    examples: problemExamples(operations, baseUrl),
    responses: Object.fromEntries(responses.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))),
  };
}

function problemsByStatus(spec: Spec): [number, ProblemCode[]][] {
  const byStatus = Map.groupBy(problemCodesOf(spec).sort(), (code) => PROBLEMS[code].status);
  return [...byStatus].sort(([a], [b]) => a - b);
}

/**
 * The name of a response in `components`, from which client generators make type names: the codes, with
 * one word for those that usually come together. Public operations have responses of their own,
 * because theirs lack the rate limit headers.
 */
function responseName(codes: readonly ProblemCode[], spec: Spec): string {
  const words: string[] = [];
  let left = codes;
  for (const [word, group] of NAMED_GROUPS) {
    if (!group.every((code) => left.includes(code))) continue;
    words.push(word);
    left = left.filter((code) => !group.includes(code));
  }
  const name = [...words, ...left.map(pascalCase)].join('Or');
  return spec.scope === 'public' ? `Public${name}` : name;
}

/** The first groups that fit are used, so larger ones come first. */
const NAMED_GROUPS: [string, ProblemCode[]][] = [
  [
    'Unauthorized',
    ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key', 'invalid_session'],
  ],
  [
    'OperatorUnauthorized',
    ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key'],
  ],
  ['OperatorForbidden', ['ip_not_allowed', 'operator_key_required']],
  [
    'SendForbidden',
    [
      'cross_site_request',
      'domain_not_allowed',
      'stream_not_allowed',
      'domain_not_owned',
      'domain_not_verified',
      'insufficient_role',
      'insufficient_scope',
      'ip_not_allowed',
      'not_a_member',
      'single_sign_on_required',
      'workspace_moved',
      'workspace_suspended',
    ],
  ],
  [
    'WriteForbiddenByRole',
    [
      'cross_site_request',
      'insufficient_role',
      'insufficient_scope',
      'ip_not_allowed',
      'not_a_member',
      'single_sign_on_required',
      'workspace_moved',
    ],
  ],
  [
    'WriteForbidden',
    [
      'cross_site_request',
      'insufficient_scope',
      'ip_not_allowed',
      'not_a_member',
      'single_sign_on_required',
      'workspace_moved',
    ],
  ],
  [
    'AccountWriteForbiddenByRole',
    [
      'cross_site_request',
      'insufficient_role',
      'insufficient_scope',
      'ip_not_allowed',
      'limited_session',
      'workspace_moved',
    ],
  ],
  [
    'AccountWriteForbidden',
    [
      'cross_site_request',
      'insufficient_scope',
      'ip_not_allowed',
      'limited_session',
      'workspace_moved',
    ],
  ],
  [
    'ReadForbidden',
    [
      'insufficient_scope',
      'ip_not_allowed',
      'not_a_member',
      'single_sign_on_required',
      'workspace_moved',
    ],
  ],
  ['AccountReadForbidden', ['insufficient_scope', 'ip_not_allowed', 'workspace_moved']],
  ['Forbidden', ['ip_not_allowed', 'not_a_member', 'single_sign_on_required', 'workspace_moved']],
  [
    'InvalidMessage',
    [
      'content_conflict',
      'content_missing',
      'idempotency_key_reused',
      'missing_variables',
      'stream_not_found',
      'template_limit',
      'template_not_found',
      'template_syntax',
      'validation_failed',
    ],
  ],
  ['InvalidRequest', ['idempotency_key_reused', 'validation_failed']],
  ['InvalidTemplate', ['template_limit', 'template_not_found', 'template_syntax']],
  ['InvalidTemplateSource', ['template_limit', 'template_syntax']],
  ['TooManyRequests', ['quota_exceeded', 'rate_limited']],
  ['Unavailable', ['overloaded', 'storage_unavailable']],
];

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns every problem an operation can return: its own, and those that its spec implies. */
function problemCodesOf(spec: Spec): ProblemCode[] {
  const codes = new Set<ProblemCode>(spec.problems ?? []);
  if (spec.scope !== 'public') {
    for (const code of API_KEY_PROBLEMS) codes.add(code);
    for (const code of sessionProblems(spec)) codes.add(code);
    if (spec.scope === 'operator') codes.add('operator_key_required');
    else codes.add('workspace_moved');
    if (spec.scope !== 'operator' && spec.scope !== 'any') codes.add('insufficient_scope');
    if (spec.mode) codes.add('wrong_mode');
    codes.add('storage_unavailable');
  } else if (spec.csrfProtected) {
    if (spec.method !== 'GET') codes.add('cross_site_request');
    codes.add('storage_unavailable');
  }
  codes.add('validation_failed').add('internal_error');
  if (spec.method === 'POST' && spec.scope !== 'public') {
    codes.add('idempotency_key_in_progress');
    codes.add('idempotency_key_reused');
  }
  if (spec.supportsIfMatch) codes.add('draft_changed');
  if (spec.body) {
    if (!spec.rawBody) codes.add('malformed_json').add('overloaded');
    codes.add('body_too_large');
    codes.add('unsupported_media_type');
  }
  return [...codes];
}

/** Problems that apply only to sessions. */
function sessionProblems({ scope, method, limitedSessions }: Spec): ProblemCode[] {
  if (scope === 'operator') return [];
  const codes: ProblemCode[] = ['invalid_session'];
  if (method !== 'GET') codes.push('cross_site_request');
  if (scope === 'person') {
    if (!limitedSessions) codes.push('limited_session');
    return codes;
  }
  codes.push('not_a_member', 'single_sign_on_required');
  const everyRoleMay = ROLES.every((role) => scope === 'any' || rightsOf(role).has(scope as Right));
  if (!everyRoleMay) codes.push('insufficient_role');
  return codes;
}

const API_KEY_PROBLEMS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'ip_not_allowed',
  'rate_limited',
] as const;

const text = { type: 'string' };

const SHARED_HEADERS = {
  'X-Request-Id': {
    description: 'The id of this request, as it appears in the log.',
    schema: text,
  },
  RateLimit: {
    description:
      'Requests left (`r`) and seconds until more are allowed (`t`), of the limit that the request counts against: `workspace`, `reads`, `person`, `network` or `operator`.',
    schema: text,
  },
  'RateLimit-Policy': { description: 'The rate limit in effect.', schema: text },
  'Retry-After': { description: 'Seconds to wait before retrying.', schema: text },
  'WWW-Authenticate': { description: 'The authentication scheme: `Bearer`.', schema: text },
} as const;

function sharedHeaders(...names: (keyof typeof SHARED_HEADERS)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function responseOf(spec: ResponseSpec, isPublic: boolean, schemas: ComponentSchemas): Json {
  const headers = isPublic
    ? sharedHeaders('X-Request-Id')
    : sharedHeaders('X-Request-Id', 'RateLimit', 'RateLimit-Policy');
  for (const [name, { description, schema }] of Object.entries(spec.headers ?? {})) {
    headers[name] = { description, schema: schemas.refer(schema) };
  }
  const response: Json = { description: spec.description, headers };
  if (spec.body) {
    const type = spec.mediaType ?? 'application/json';
    const content: Json = { [type]: mediaOf(spec, spec.body, type, schemas) };
    for (const [other, { example }] of Object.entries(spec.alternateTypes ?? {})) {
      content[other] = { schema: schemas.refer(spec.body), example };
    }
    response.content = content;
  }
  return response;
}

function mediaOf(
  response: ResponseSpec,
  body: TSchema,
  type: string,
  schemas: ComponentSchemas,
): Json {
  const media: Json = { schema: schemas.refer(body) };
  if (response.example !== undefined) media.example = response.example;
  else if (type === 'application/json') media.example = exampleOf(body);
  return media;
}

function problemResponse(
  status: number,
  codes: ProblemCode[],
  spec: Spec,
  schemas: ComponentSchemas,
): Json {
  const headers = sharedHeaders('X-Request-Id');
  if (status === 401) Object.assign(headers, sharedHeaders('WWW-Authenticate'));
  else if (spec.scope !== 'public') {
    Object.assign(headers, sharedHeaders('RateLimit', 'RateLimit-Policy'));
  }
  if (status === 429 || status === 503) Object.assign(headers, sharedHeaders('Retry-After'));
  const examples = Object.fromEntries(
    codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    headers,
    content: { 'application/problem+json': { schema: schemas.refer(Problem), examples } },
  };
}

/** One example of each problem that any operation can return. */
function problemExamples(operations: readonly Operation[], baseUrl: string): Json {
  const met = new Set(operations.flatMap(({ spec }) => problemCodesOf(spec)));
  return Object.fromEntries(
    [...met].sort().map((code) => {
      const { status, title, meaning, fix } = PROBLEMS[code];
      const value = {
        type: `${baseUrl}/docs/errors/${code.replaceAll('_', '-')}`,
        title,
        status,
        code,
        detail: meaning,
        fix: fix.replaceAll('{app}', baseUrl),
        request_id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
      };
      return [code, { summary: title, value }];
    }),
  );
}
