import { ComponentSchemas } from '../http/openapi/component-schemas.ts';
import { describePaths } from '../http/openapi/openapi-document.ts';
import type { Operation } from '../http/operation.ts';
import { type CompatProvider, prefixOf } from './compat-provider.ts';

export interface CompatDocumentOptions {
  baseUrl: string;
  version: string;
}

/** The OpenAPI document of one provider's API as Postrider offers it. */
export function compatDocument(
  provider: CompatProvider,
  operations: readonly Operation[],
  { baseUrl, version }: CompatDocumentOptions,
): object {
  const schemas = new ComponentSchemas();
  const error = {
    description: `An error in the format of ${provider.title}.`,
    content: { 'application/json': { schema: schemas.refer(provider.errorSchema) } },
  };
  const paths = describePaths(prefixOf(provider), operations, schemas, (spec) => ({
    ...Object.fromEntries(
      Object.entries(spec.responses).map(([status, { description, body }]) => [
        status,
        body
          ? { description, content: { 'application/json': { schema: schemas.refer(body) } } }
          : { description },
      ]),
    ),
    default: error,
  }));
  return {
    openapi: '3.1.0',
    info: {
      title: `Postrider, compatible with ${provider.title}`,
      version,
      description: `What Postrider accepts from programs written for ${provider.title}. Anything not listed here is refused.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl, description: 'This server' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: provider.securityScheme },
      schemas: schemas.components(),
    },
  };
}
