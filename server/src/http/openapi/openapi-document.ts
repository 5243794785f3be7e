import type { TSchema } from 'typebox';
import { isTeamRight, ROLES } from '../../accounts/roles.ts';
import { SCOPES } from '../../accounts/scopes.ts';
import { type Operation, TAGS } from '../operation.ts';
import { webhookDescriptions } from '../routes/events/event-schemas.ts';
import { API_PREFIX } from '../server/api-prefix.ts';
import { FORM_TYPES } from '../server/form-body.ts';
import { createSessionCookie } from '../server/session-cookie.ts';
import { isOptionalBody } from '../validation/schema-validator.ts';
import { ComponentSchemas } from './component-schemas.ts';
import { responsesOf, sharedComponents } from './openapi-responses.ts';

/** The OpenAPI 3.1 document, generated from the same operations that the server runs. */

export interface DocumentOptions {
  baseUrl: string;
  version: string;
}

type Json = Record<string, unknown>;

export function openapiDocument(operations: readonly Operation[], options: DocumentOptions): Json {
  const schemas = new ComponentSchemas();
  const paths = describePaths(API_PREFIX, operations, schemas, responsesOf);
  const webhooks = webhookDescriptions(schemas);
  const shared = sharedComponents(operations, options.baseUrl, schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postrider',
      version: options.version,
      summary: 'A self-hosted transactional email service.',
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
        operatorKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'pr_operator_…',
          description: OPERATOR_KEY,
        },
        // Not `in: cookie`: the Ruby clients of OpenAPI Generator would fail in every call.
        session: {
          type: 'apiKey',
          in: 'header',
          name: 'Cookie',
          description: sessionDescription(createSessionCookie(options.baseUrl).name),
        },
      },
      ...shared,
      schemas: schemas.components(),
    },
  };
}

const INTRODUCTION = `Send email with one request and track what happens to it.

- **API keys.** \`Authorization: Bearer pr_live_…\` sends real mail; with \`pr_test_…\` messages are processed the same way but go to the test inbox. Each key has scopes.
- **Errors** are RFC 9457 \`application/problem+json\` with a machine-readable \`code\`, a human-readable \`detail\` and a \`fix\`. All invalid fields are reported at once.
- **Idempotency.** Every POST accepts an \`Idempotency-Key\` (1-255 visible characters, kept for 24 hours): the same key and body return the first response again.
- **Bodies** are JSON unless stated otherwise. Operations without a documented body ignore any body.
- **Lists** are sorted newest first, accept \`limit\` and \`cursor\`, and return \`data\` and \`next_cursor\`.
- **Versioning.** Changes to \`/api/v1\` are additive: fields, endpoints, event types and error codes may be added. Breaking changes go to \`/api/v2\`. Deprecated features are announced with \`Deprecation\` and \`Sunset\` at least 12 months in advance.`;

function sessionDescription(cookie: string): string {
  return `The session of a signed-in user, as used by the dashboard at \`/app\`: \`${cookie}=…\`. The \`Postrider-Workspace\` header names the workspace and \`Postrider-Mode\` the mode (\`live\` or \`test\`). Requests that change data always need \`Postrider-Mode\` and must come from the dashboard’s own origin. Scopes follow the user’s role in the workspace: ${ROLES.join(', ')}.`;
}

const OPERATOR_KEY =
  'A key of the operator of the server, for the operations under `/operator` only. `postrider operator-keys create` creates it.';

type DescribeResponses = (spec: Operation['spec'], schemas: ComponentSchemas) => Json;

/** The `paths` of a document. The format of errors differs by API, so it describes the responses. */
export function describePaths(
  prefix: string,
  operations: readonly Operation[],
  schemas: ComponentSchemas,
  describeResponses: DescribeResponses,
): Record<string, Json> {
  const paths: Record<string, Json> = {};
  for (const { spec } of operations) {
    const path = prefix + spec.path;
    paths[path] ??= {};
    (paths[path] as Json)[spec.method.toLowerCase()] = {
      ...describeOperation(spec, schemas),
      responses: describeResponses(spec, schemas),
    };
  }
  return paths;
}

function describeOperation(spec: Operation['spec'], schemas: ComponentSchemas): Json {
  const operation: Json = {
    operationId: spec.id,
    tags: [spec.tag],
    summary: spec.summary,
    description: descriptionOf(spec),
  };
  if (spec.scope === 'public') operation.security = [];
  else operation['x-scope'] = spec.scope;
  if (spec.mode) operation['x-mode'] = spec.mode;
  if (isSessionOnly(spec)) operation.security = [{ session: [] }];
  if (spec.scope === 'operator') operation.security = [{ operatorKey: [] }];
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
    const forms = spec.acceptsForms ? FORM_TYPES : [];
    const types = spec.rawBody ?? [...forms, 'application/json'];
    operation.requestBody = {
      required: spec.rawBody !== undefined || !isOptionalBody(spec.body),
      content: Object.fromEntries(types.map((type) => [type, media])),
    };
  }
  return operation;
}

function descriptionOf(spec: Operation['spec']): string {
  const needs = accessNote(spec);
  const mode =
    spec.mode === undefined ? '' : spec.mode === 'live' ? ' Live keys only.' : ' Test keys only.';
  return `${spec.description ? `${spec.description}\n\n` : ''}${needs}${mode}`;
}

function isSessionOnly({ scope }: Operation['spec']): boolean {
  return scope === 'person' || isTeamRight(scope);
}

function accessNote({ scope }: Operation['spec']): string {
  switch (scope) {
    case 'public':
      return 'No authentication required.';
    case 'any':
      return 'Any valid API key.';
    case 'operator':
      return 'Requires an operator key; API keys and sessions cannot use it.';
    case 'person':
      return 'Requires a signed-in user; API keys cannot use it.';
    default:
      return isTeamRight(scope)
        ? `Requires a signed-in user whose role has \`${scope}\`; API keys cannot use it.`
        : `Scope: \`${scope}\`.`;
  }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes it safe to retry the request.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The `etag` of the draft that you last read. If the draft has changed since, the request fails with 412 `draft_changed`.',
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
