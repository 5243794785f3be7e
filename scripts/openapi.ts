import { readConfig } from '../server/src/config/read-config.ts';
import { openapiDocument } from '../server/src/http/openapi/openapi-document.ts';
import { createOperations, type RouteDependencies } from '../server/src/http/operations.ts';
import { VERSION } from '../server/src/version.ts';

/** The OpenAPI document of a server with the default configuration, as stored in openapi.json. */
export function defaultDocument(): object {
  const { http, limits } = readConfig({});
  // Describing an operation asks nothing of the parts that it works with.
  const parts = { baseUrl: http.baseUrl, batchMax: limits.batchMax } as RouteDependencies;
  return openapiDocument(createOperations(parts), { baseUrl: http.baseUrl, version: VERSION });
}
