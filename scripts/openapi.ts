import { readConfig } from '../server/src/config/read-config.ts';
import { openapiDocument } from '../server/src/http/openapi/openapi-document.ts';
import { allOperations, type OperationParts } from '../server/src/http/operations.ts';
import { VERSION } from '../server/src/version.ts';

/** The OpenAPI document of a server with the default configuration, as openapi.json holds it. */
export function defaultDocument(): object {
  const { http, limits } = readConfig({});
  // Describing an operation asks nothing of the parts that it works with.
  const parts = { baseUrl: http.baseUrl, batchMax: limits.batchMax } as OperationParts;
  return openapiDocument(allOperations(parts), { baseUrl: http.baseUrl, version: VERSION });
}
