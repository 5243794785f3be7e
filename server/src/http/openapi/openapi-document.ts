import type { TSchema } from 'typebox';
import { isTeamRight, ROLES } from '../../accounts/roles.ts';
import { SCOPES } from '../../accounts/scopes.ts';
import { type Operation, TAGS } from '../operation.ts';
import { webhookDescriptions } from '../routes/webhooks/event-payloads.ts';
import { API_PREFIX } from '../server/http-server.ts';
import { createSessionCookie } from '../server/session-cookie.ts';
import { isOptionalBody } from '../validation/schema-validator.ts';
import { ComponentSchemas } from './component-schemas.ts';
import { responsesOf, sharedComponents } from './openapi-responses.ts';

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
  const schemas = new ComponentSchemas();
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = API_PREFIX + operation.spec.path;
    paths[path] ??= {};
    (paths[path] as Json)[operation.spec.method.toLowerCase()] = describe(operation, schemas);
  }
  const webhooks = webhookDescriptions(schemas);
  const answers = sharedComponents(operations, options.baseUrl, schemas);
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
          name: createSessionCookie(options.baseUrl).name,
          description: SESSION,
        },
      },
      ...answers,
      schemas: schemas.components(),
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

function describe({ spec }: Operation, schemas: ComponentSchemas): Json {
  const operation: Json = {
    operationId: spec.id,
    tags: [spec.tag],
    summary: spec.summary,
    description: descriptionOf(spec),
  };
  if (spec.scope === 'public') operation.security = [];
  else operation['x-scope'] = spec.scope;
  if (isSessionOnly(spec)) operation.security = [{ session: [] }];
  const parameters = [
    ...parametersOf('path', spec.params, schemas),
    ...parametersOf('query', spec.query, schemas),
    ...(spec.method === 'POST' && spec.scope !== 'public' ? [IDEMPOTENCY_KEY] : []),
    ...(spec.supportsIfMatch ? [IF_MATCH] : []),
  ];
  if (parameters.length > 0) operation.parameters = parameters;
  if (spec.body) {
    const media: Json = { schema: schemas.refer(spec.body) };
    if (spec.examples) media.examples = spec.examples;
    const types = spec.rawBody ?? ['application/json'];
    operation.requestBody = {
      required: spec.rawBody !== undefined || !isOptionalBody(spec.body),
      content: Object.fromEntries(types.map((type) => [type, media])),
    };
  }
  operation.responses = responsesOf(spec, schemas);
  return operation;
}

function descriptionOf(spec: Operation['spec']): string {
  const needs = accessNote(spec);
  const test = spec.testKeysOnly ? ' Test keys only.' : '';
  return `${spec.description ? `${spec.description}\n\n` : ''}${needs}${test}`;
}

function isSessionOnly({ scope }: Operation['spec']): boolean {
  return scope === 'person' || isTeamRight(scope);
}

function accessNote({ scope }: Operation['spec']): string {
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
  location: 'path' | 'query',
  schema: TSchema | undefined,
  schemas: ComponentSchemas,
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
    const { description, examples, ...rest } = schemas.refer(inner) as Json & {
      examples?: unknown[];
    };
    return {
      name,
      in: location,
      required: location === 'path' || required.includes(name),
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
