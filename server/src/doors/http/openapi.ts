import type { TSchema } from 'typebox';
import { SCOPES } from '../../accounts/scopes.ts';
import { API_PREFIX } from './http-server.ts';
import { type Answer, type Operation, TAGS } from './operation.ts';
import { PROBLEMS, type ProblemCode } from './problem-types.ts';
import { Problem } from './schemas/common.ts';
import { webhookDescriptions } from './schemas/webhook-payloads.ts';

/**
 * The OpenAPI 3.1 document, generated from the operations that the server runs. A schema with a
 * title becomes a component and is referred to wherever the same schema stands.
 */

export interface DocumentOptions {
  baseUrl: string;
  version: string;
}

type Json = Record<string, unknown>;

export function openapiDocument(operations: readonly Operation[], options: DocumentOptions): Json {
  const schemas: Json = {};
  const named = (schema: TSchema): Json => nameSchemas(schema, schemas);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = API_PREFIX + operation.rules.path;
    paths[path] ??= {};
    (paths[path] as Json)[operation.rules.method.toLowerCase()] = describe(operation, named);
  }
  const webhooks = webhookDescriptions(named);
  named(Problem);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postrider',
      version: options.version,
      summary: 'A transactional e-mail service that anyone can run.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'Postrider', url: 'https://github.com/postrider/postrider' },
    },
    servers: [{ url: options.baseUrl, description: 'This server' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'pr_live_… or pr_test_…',
          description: `An API key. Scopes: ${SCOPES.join(', ')}.`,
        },
      },
      schemas: sorted(schemas),
    },
  };
}

const INTRODUCTION = `Send e-mail with one request and learn what became of it.

- **Keys.** \`Authorization: Bearer pr_live_…\` sends real mail; \`pr_test_…\` runs the same way and ends in the test inbox. Each key has scopes.
- **Errors** are RFC 9457 \`application/problem+json\` with a \`code\` for programs, a \`detail\` for people and a \`fix\`. All faulty fields are told at once.
- **Repeating.** Every POST takes an \`Idempotency-Key\` (1-255 visible characters, kept for 24 hours): the same key and body give the first answer again.
- **Lists** are newest first, take \`limit\` and \`cursor\`, and answer \`data\` and \`next_cursor\`.
- **Versioning.** \`/api/v1\` only grows: fields, endpoints, event types and error codes may be added. What would break a client goes to \`/api/v2\`; what is retired is announced by \`Deprecation\` and \`Sunset\` at least 12 months ahead.`;

function describe({ rules }: Operation, named: (schema: TSchema) => Json): Json {
  const operation: Json = {
    operationId: rules.id,
    tags: [rules.tag],
    summary: rules.summary,
    description: descriptionOf(rules),
  };
  if (rules.scope === 'public') operation.security = [];
  const parameters = [
    ...parametersOf('path', rules.params, named),
    ...parametersOf('query', rules.query, named),
    ...(rules.method === 'POST' && rules.scope !== 'public' ? [IDEMPOTENCY_KEY] : []),
  ];
  if (parameters.length > 0) operation.parameters = parameters;
  if (rules.body) {
    const media: Json = { schema: named(rules.body) };
    if (rules.examples) media.examples = rules.examples;
    const types = rules.rawBody ?? ['application/json'];
    operation.requestBody = {
      required: true,
      content: Object.fromEntries(types.map((type) => [type, media])),
    };
  }
  operation.responses = responsesOf(rules, named);
  return operation;
}

function descriptionOf(rules: Operation['rules']): string {
  const needs =
    rules.scope === 'public'
      ? 'Needs no key.'
      : rules.scope === 'any'
        ? 'Any valid key.'
        : `Scope: \`${rules.scope}\`.`;
  const test = rules.testKeysOnly ? ' Test keys only.' : '';
  return `${rules.description ? `${rules.description}\n\n` : ''}${needs}${test}`;
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes it safe to repeat the request.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

function parametersOf(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  named: (schema: TSchema) => Json,
): Json[] {
  if (!schema) return [];
  const {
    properties = {},
    required = [],
    patternProperties,
  } = schema as unknown as {
    properties?: Record<string, TSchema>;
    required?: string[];
    patternProperties?: Record<string, TSchema>;
  };
  const parameters: Json[] = Object.entries(properties).map(([name, inner]) => {
    const { description, examples, ...rest } = named(inner) as Json & { examples?: unknown[] };
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description ? { description } : {}),
      schema: rest,
      ...(examples?.length ? { example: examples[0] } : {}),
    };
  });
  if (patternProperties) {
    parameters.push({
      name: 'metadata',
      in: 'query',
      style: 'deepObject',
      explode: true,
      description: '`metadata[key]=value`: only messages with this pair.',
      schema: { type: 'object', additionalProperties: { type: 'string' } },
    });
  }
  return parameters;
}

function responsesOf(rules: Operation['rules'], named: (schema: TSchema) => Json): Json {
  const responses: Json = {};
  for (const [status, answer] of Object.entries(rules.answers)) {
    responses[status] = responseOf(answer, rules.scope === 'public', named);
  }
  const byStatus = Map.groupBy(refusalsOf(rules), (code) => PROBLEMS[code].status);
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[String(status)] = problemResponse(status, codes, named);
  }
  return responses;
}

/** Every refusal an operation can give: its own, and those that its rules imply. */
export function refusalsOf(rules: Operation['rules']): ProblemCode[] {
  const codes = new Set<ProblemCode>(rules.refusals ?? []);
  if (rules.scope !== 'public') {
    for (const code of KEY_REFUSALS) codes.add(code);
    if (rules.scope !== 'any' || rules.testKeysOnly) codes.add('insufficient_scope');
    codes.add('storage_unavailable');
  }
  codes.add('validation_failed');
  if (rules.method === 'POST' && rules.scope !== 'public') {
    codes.add('idempotency_key_in_progress');
    codes.add('idempotency_key_reused');
  }
  if (rules.method !== 'GET' && rules.method !== 'DELETE') {
    if (!rules.rawBody) codes.add('malformed_json');
    codes.add('body_too_large');
    codes.add('unsupported_media_type');
  }
  return [...codes];
}

const KEY_REFUSALS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'ip_not_allowed',
  'rate_limited',
] as const;

const REQUEST_ID = {
  'X-Request-Id': { description: 'The id of this request.', schema: { type: 'string' } },
};
const RATE_HEADERS = {
  RateLimit: { description: 'What is left, and for how long.', schema: { type: 'string' } },
  'RateLimit-Policy': { description: 'The limit.', schema: { type: 'string' } },
};

function responseOf(answer: Answer, isPublic: boolean, named: (schema: TSchema) => Json): Json {
  const headers: Json = { ...REQUEST_ID, ...(isPublic ? {} : RATE_HEADERS) };
  for (const [name, { description, schema }] of Object.entries(answer.headers ?? {})) {
    headers[name] = { description, schema: named(schema) };
  }
  const response: Json = { description: answer.description, headers };
  if (answer.body) {
    const media: Json = { schema: named(answer.body) };
    if (answer.example !== undefined) media.example = answer.example;
    response.content = { [answer.mediaType ?? 'application/json']: media };
  }
  return response;
}

function problemResponse(
  status: number,
  codes: ProblemCode[],
  named: (schema: TSchema) => Json,
): Json {
  const headers: Json = { ...REQUEST_ID };
  if (status === 401) {
    headers['WWW-Authenticate'] = { description: 'Bearer.', schema: { type: 'string' } };
  }
  if (status === 429 || status === 503) {
    headers['Retry-After'] = { description: 'Seconds to wait.', schema: { type: 'string' } };
  }
  const examples = Object.fromEntries(
    codes.map((code) => [
      code,
      {
        summary: PROBLEMS[code].title,
        value: {
          type: `https://mail.example.com/docs/errors/${code.replaceAll('_', '-')}`,
          title: PROBLEMS[code].title,
          status,
          code,
          detail: PROBLEMS[code].meaning,
          fix: PROBLEMS[code].fix.replaceAll('{app}', 'https://mail.example.com'),
          request_id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
        },
      },
    ]),
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    headers,
    content: { 'application/problem+json': { schema: named(Problem), examples } },
  };
}

/** A copy of the schema in which every titled schema is a reference to its component. */
function nameSchemas(schema: TSchema, components: Json): Json {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (value === null || typeof value !== 'object') return value;
    const node = value as Json & { title?: unknown };
    if (typeof node.title === 'string' && /^[A-Z]\w+$/.test(node.title)) {
      const { title } = node;
      if (!(title in components)) {
        components[title] = {};
        components[title] = copy(node);
      }
      return { $ref: `#/components/schemas/${title}` };
    }
    return copy(node);
  };
  const copy = (node: Json): Json => {
    const { title: _title, ...rest } = node;
    return Object.fromEntries(
      Object.entries(rest).map(([key, inner]) => [
        key,
        key === 'examples' || key === 'default' || key === 'enum' ? inner : visit(inner),
      ]),
    );
  };
  return visit(schema) as Json;
}

function sorted(object: Json): Json {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
