import type { TSchema } from 'typebox';
import { type Right, ROLES, rightsOf } from '../../accounts/roles.ts';
import type { Answer, Operation } from '../operation.ts';
import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import type { NamedSchemas } from './component-schemas.ts';
import { exampleOf } from './schema-example.ts';
import { Problem } from './shared-schemas.ts';

/**
 * The answers of an operation, as the OpenAPI document tells them. Refusals are the same over and
 * over: each set of them is told once, in `components`, and referred to.
 */

type Json = Record<string, unknown>;
type Rules = Operation['rules'];

export function responsesOf(rules: Rules, named: NamedSchemas): Json {
  const responses: Json = {};
  for (const [status, answer] of Object.entries(rules.answers)) {
    responses[status] = responseOf(answer, rules.scope === 'public', named);
  }
  for (const [status, codes] of refusalsByStatus(rules)) {
    responses[status] = { $ref: `#/components/responses/${nameOf(status, codes, rules)}` };
  }
  return responses;
}

/** What all operations refer to, for `components`. */
export function sharedAnswers(
  operations: readonly Operation[],
  baseUrl: string,
  named: NamedSchemas,
): { headers: Json; examples: Json; responses: Json } {
  const responses = operations.flatMap(({ rules }) =>
    refusalsByStatus(rules).map(([status, codes]) => [
      nameOf(status, codes, rules),
      problemResponse(status, codes, rules, named),
    ]),
  );
  return {
    headers: SHARED_HEADERS,
    examples: problemExamples(operations, baseUrl),
    responses: Object.fromEntries(responses.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))),
  };
}

function refusalsByStatus(rules: Rules): [number, ProblemCode[]][] {
  const byStatus = Map.groupBy(refusalsOf(rules).sort(), (code) => PROBLEMS[code].status);
  return [...byStatus].sort(([a], [b]) => a - b);
}

function nameOf(status: number, codes: readonly ProblemCode[], rules: Rules): string {
  return [...(rules.scope === 'public' ? ['public'] : []), status, ...codes].join('.');
}

/** Every refusal an operation can give: its own, and those that its rules imply. */
export function refusalsOf(rules: Rules): ProblemCode[] {
  const codes = new Set<ProblemCode>(rules.refusals ?? []);
  if (rules.scope !== 'public') {
    for (const code of KEY_REFUSALS) codes.add(code);
    for (const code of sessionRefusals(rules)) codes.add(code);
    if (rules.scope !== 'any' || rules.testKeysOnly) codes.add('insufficient_scope');
    codes.add('storage_unavailable');
  } else if (rules.signsIn) {
    if (rules.method !== 'GET') codes.add('cross_site_request');
    codes.add('storage_unavailable');
  }
  codes.add('validation_failed');
  if (rules.method === 'POST' && rules.scope !== 'public') {
    codes.add('idempotency_key_in_progress');
    codes.add('idempotency_key_reused');
  }
  if (rules.takesIfMatch) codes.add('draft_changed');
  if (rules.body) {
    if (!rules.rawBody) codes.add('malformed_json');
    codes.add('body_too_large');
    codes.add('unsupported_media_type');
  }
  return [...codes];
}

/** What a person with a session can meet, beyond what a key can. */
function sessionRefusals({ scope, method }: Rules): ProblemCode[] {
  const codes: ProblemCode[] = ['invalid_session'];
  if (method !== 'GET') codes.push('cross_site_request');
  if (scope === 'person') return codes;
  codes.push('not_a_member');
  const everyRoleMay = ROLES.every((role) => scope === 'any' || rightsOf(role).has(scope as Right));
  if (!everyRoleMay) codes.push('insufficient_role');
  return codes;
}

const KEY_REFUSALS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'ip_not_allowed',
  'rate_limited',
] as const;

const text = { type: 'string' };

const SHARED_HEADERS = {
  'X-Request-Id': { description: 'The id of this request; the log knows it.', schema: text },
  RateLimit: { description: 'Requests left (`r`), and seconds until more (`t`).', schema: text },
  'RateLimit-Policy': { description: 'The limit in force.', schema: text },
  'Retry-After': { description: 'Seconds to wait before repeating.', schema: text },
  'WWW-Authenticate': { description: 'How to authenticate: `Bearer`.', schema: text },
} as const;

function sharedHeaders(...names: (keyof typeof SHARED_HEADERS)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function responseOf(answer: Answer, isPublic: boolean, named: NamedSchemas): Json {
  const headers = isPublic
    ? sharedHeaders('X-Request-Id')
    : sharedHeaders('X-Request-Id', 'RateLimit', 'RateLimit-Policy');
  for (const [name, { description, schema }] of Object.entries(answer.headers ?? {})) {
    headers[name] = { description, schema: named.refer(schema) };
  }
  const response: Json = { description: answer.description, headers };
  if (answer.body) {
    const type = answer.mediaType ?? 'application/json';
    const content: Json = { [type]: mediaOf(answer, answer.body, type, named) };
    for (const [other, { example }] of Object.entries(answer.alsoAs ?? {})) {
      content[other] = { schema: named.refer(answer.body), example };
    }
    response.content = content;
  }
  return response;
}

function mediaOf(answer: Answer, body: TSchema, type: string, named: NamedSchemas): Json {
  const media: Json = { schema: named.refer(body) };
  if (answer.example !== undefined) media.example = answer.example;
  else if (type === 'application/json') media.example = exampleOf(body);
  return media;
}

function problemResponse(
  status: number,
  codes: ProblemCode[],
  rules: Rules,
  named: NamedSchemas,
): Json {
  const headers = sharedHeaders('X-Request-Id');
  if (status === 401) Object.assign(headers, sharedHeaders('WWW-Authenticate'));
  else if (rules.scope !== 'public') {
    Object.assign(headers, sharedHeaders('RateLimit', 'RateLimit-Policy'));
  }
  if (status === 429 || status === 503) Object.assign(headers, sharedHeaders('Retry-After'));
  const examples = Object.fromEntries(
    codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    headers,
    content: { 'application/problem+json': { schema: named.refer(Problem), examples } },
  };
}

/** One example of each problem that an operation can meet. */
function problemExamples(operations: readonly Operation[], baseUrl: string): Json {
  const met = new Set(operations.flatMap(({ rules }) => refusalsOf(rules)));
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
