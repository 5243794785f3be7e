import { type Direction, SchemaComparison } from './schema-comparison.ts';

/**
 * Compares two OpenAPI documents and reports what would break a client of the first: operations,
 * parameters, responses and response fields that were removed or changed type, and requests that are
 * no longer accepted. Optional additions are not breaking.
 */

type Json = Record<string, unknown>;

export interface OpenApi {
  paths: Record<string, Record<string, ApiOperation>>;
  webhooks?: Record<string, Record<string, ApiOperation>>;
  components?: { schemas?: Json; responses?: Record<string, Response>; headers?: Json };
}

interface ApiOperation {
  operationId: string;
  security?: unknown[];
  'x-scope'?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, Response>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Json;
}

interface Response {
  $ref?: string;
  headers?: Json;
  content?: Record<string, { schema: Json }>;
}

export function breakingChanges(before: OpenApi, after: OpenApi): string[] {
  const schemas = new SchemaComparison(
    before.components?.schemas ?? {},
    after.components?.schemas ?? {},
  );
  const found: string[] = [];
  for (const { name, operation } of operationsOf(before.paths)) {
    const now = operationsOf(after.paths).find((other) => other.name === name)?.operation;
    if (!now) found.push(`${name} was removed`);
    else found.push(...operationChanges(operation, now).map((change) => `${name}: ${change}`));
  }
  for (const { name, operation } of operationsOf(before.webhooks ?? {})) {
    const now = operationsOf(after.webhooks ?? {}).find((other) => other.name === name)?.operation;
    if (!now) found.push(`the event ${name} was removed`);
    else found.push(...eventChanges(operation, now).map((change) => `${name}: ${change}`));
  }
  return found;

  function operationChanges(was: ApiOperation, now: ApiOperation): string[] {
    return [
      ...(was.operationId === now.operationId
        ? []
        : [`operationId changed from ${was.operationId} to ${now.operationId}`]),
      ...(was.security?.length === 0 && now.security?.length !== 0
        ? ['authentication is now required']
        : []),
      ...(was['x-scope'] === now['x-scope']
        ? []
        : [`scope changed from ${was['x-scope']} to ${now['x-scope']}`]),
      ...parameterChanges(was.parameters ?? [], now.parameters ?? []),
      ...contentChanges('request', was.requestBody?.content, now.requestBody?.content),
      ...(!was.requestBody && now.requestBody ? ['a body is now required'] : []),
      ...responseChanges(was, now),
    ];
  }

  function eventChanges(was: ApiOperation, now: ApiOperation): string[] {
    return contentChanges('response', was.requestBody?.content, now.requestBody?.content);
  }

  function parameterChanges(was: readonly Parameter[], now: readonly Parameter[]): string[] {
    const same = (a: Parameter) => (b: Parameter) => a.name === b.name && a.in === b.in;
    return [
      ...was.flatMap((old) => {
        const present = now.find(same(old));
        if (!present) return [`the parameter ${old.name} was removed`];
        return schemas.changes('request', old.schema, present.schema, old.name);
      }),
      ...now
        .filter((present) => present.required && !was.find(same(present))?.required)
        .map((present) => `the parameter ${present.name} is now required`),
    ];
  }

  function responseChanges(was: ApiOperation, now: ApiOperation): string[] {
    return Object.entries(was.responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, response]) => {
        const present = now.responses[status];
        if (!present) return [`the response ${status} was removed`];
        const [old, current] = [resolved(before, response), resolved(after, present)];
        const removedHeaders = Object.keys(old.headers ?? {}).filter(
          (header) => !(header in (current.headers ?? {})),
        );
        return [
          ...removedHeaders.map((header) => `the header ${header} of ${status} was removed`),
          ...contentChanges('response', old.content, current.content).map(
            (change) => `${status}: ${change}`,
          ),
        ];
      });
  }

  function contentChanges(
    direction: Direction,
    was: Record<string, { schema: Json }> = {},
    now: Record<string, { schema: Json }> = {},
  ): string[] {
    return Object.entries(was).flatMap(([type, media]) => {
      const present = now[type];
      if (!present) return [`${type} was removed`];
      return schemas.changes(direction, media.schema, present.schema, '');
    });
  }
}

function operationsOf(
  paths: Record<string, Record<string, ApiOperation>>,
): { name: string; operation: ApiOperation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
}

function resolved(document: OpenApi, response: Response): Response {
  const name = response.$ref?.split('/').at(-1);
  return name === undefined ? response : (document.components?.responses?.[name] ?? {});
}
