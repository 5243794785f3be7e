import type { TSchema } from 'typebox';
import { isTeamRight, ROLES } from '../../accounts/roles.ts';
import { SCOPES } from '../../accounts/scopes.ts';
import { type Operation, TAGS } from '../operation.ts';
import { webhookDescriptions } from '../routes/webhooks/event-payloads.ts';
import { API_PREFIX } from '../server/http-server.ts';
import { sessionCookie } from '../server/session-cookie.ts';
import { isOptionalBody } from '../validation/schema-validator.ts';
import { NamedSchemas } from './component-schemas.ts';
import { responsesOf, sharedAnswers } from './openapi-responses.ts';

/**
 * The OpenAPI 3.1 document, generated from the operations that the server runs: what is written here
 * and what is answered come from the same values.
 */

export interface DocumentOptions {
  baseUrl: string;
  version: string;
}

type Json = Record<string, unknown>;

export function openapiDocument(operations: readonly Operation[], options: DocumentOptions): Json {
  const named = new NamedSchemas();
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = API_PREFIX + operation.rules.path;
    paths[path] ??= {};
    (paths[path] as Json)[operation.rules.method.toLowerCase()] = describe(operation, named);
  }
  const webhooks = webhookDescriptions(named);
  const answers = sharedAnswers(operations, options.baseUrl, named);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postrider',
      version: options.version,
      summary: 'A transactional e-mail service that anyone can run.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'Postrider', url: `${options.baseUrl}/docs` },
    },
    servers: [{ url: options.baseUrl, description: 'This server' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }, { session: [] }],
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
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie(options.baseUrl).name,
          description: SESSION,
        },
      },
      ...answers,
      schemas: named.components(),
    },
  };
}

const INTRODUCTION = `Send e-mail with one request and learn what became of it.

- **Keys.** \`Authorization: Bearer pr_live_…\` sends real mail; \`pr_test_…\` runs the same way and ends in the test inbox. Each key has scopes.
- **Errors** are RFC 9457 \`application/problem+json\` with a \`code\` for programs, a \`detail\` for people and a \`fix\`. All faulty fields are told at once.
- **Repeating.** Every POST takes an \`Idempotency-Key\` (1-255 visible characters, kept for 24 hours): the same key and body give the first answer again.
- **Bodies** are JSON where nothing else is said. An operation that is described without one reads none, whatever is sent.
- **Lists** are newest first, take \`limit\` and \`cursor\`, and answer \`data\` and \`next_cursor\`.
- **Versioning.** \`/api/v1\` only grows: fields, endpoints, event types and error codes may be added. What would break a client goes to \`/api/v2\`; what is retired is announced by \`Deprecation\` and \`Sunset\` at least 12 months ahead.`;

const SESSION = `A person’s session, as the application at \`/app\` uses it. It names its workspace by the header \`Postrider-Workspace\` and its mode (\`live\` or \`test\`) by \`Postrider-Mode\`; what changes something needs the latter in any case, from the application’s own origin. Its scopes follow the role in the workspace: ${ROLES.join(', ')}.`;

function describe({ rules }: Operation, named: NamedSchemas): Json {
  const operation: Json = {
    operationId: rules.id,
    tags: [rules.tag],
    summary: rules.summary,
    description: descriptionOf(rules),
  };
  if (rules.scope === 'public') operation.security = [];
  else operation['x-scope'] = rules.scope;
  if (isForPeople(rules)) operation.security = [{ session: [] }];
  const parameters = [
    ...parametersOf('path', rules.params, named),
    ...parametersOf('query', rules.query, named),
    ...(rules.method === 'POST' && rules.scope !== 'public' ? [IDEMPOTENCY_KEY] : []),
    ...(rules.takesIfMatch ? [IF_MATCH] : []),
  ];
  if (parameters.length > 0) operation.parameters = parameters;
  if (rules.body) {
    const media: Json = { schema: named.refer(rules.body) };
    if (rules.examples) media.examples = rules.examples;
    const types = rules.rawBody ?? ['application/json'];
    operation.requestBody = {
      required: rules.rawBody !== undefined || !isOptionalBody(rules.body),
      content: Object.fromEntries(types.map((type) => [type, media])),
    };
  }
  operation.responses = responsesOf(rules, named);
  return operation;
}

function descriptionOf(rules: Operation['rules']): string {
  const needs = needsOf(rules);
  const test = rules.testKeysOnly ? ' Test keys only.' : '';
  return `${rules.description ? `${rules.description}\n\n` : ''}${needs}${test}`;
}

function isForPeople({ scope }: Operation['rules']): boolean {
  return scope === 'person' || isTeamRight(scope);
}

function needsOf({ scope }: Operation['rules']): string {
  switch (scope) {
    case 'public':
      return 'Needs no key.';
    case 'any':
      return 'Any valid key.';
    case 'person':
      return 'For people who are signed in, not for keys.';
    default:
      return isTeamRight(scope)
        ? `For people whose role has \`${scope}\`, not for keys.`
        : `Scope: \`${scope}\`.`;
  }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes it safe to repeat the request.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The `etag` of the draft that you have seen. If it has changed since, nothing is done: 412 `draft_changed`.',
  schema: { type: 'string' },
  example: '"tpl_01kc8x3f7ye6qvj2m4n5p6q7r8.7"',
};

function parametersOf(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  named: NamedSchemas,
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
    const { description, examples, ...rest } = named.refer(inner) as Json & {
      examples?: unknown[];
    };
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
