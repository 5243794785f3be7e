import { Type } from 'typebox';
import { stringify } from 'yaml';
import { documentResponder } from '../../openapi/document-response.ts';
import { toOpenapi30 } from '../../openapi/openapi-30.ts';
import { type Operation, operation } from '../../operation.ts';

/** The document is built from all operations, so it is passed as a function. */
export function getOpenapiJson(deps: { document: () => object }): Operation {
  const respond = documentResponder(
    () => JSON.stringify(deps.document()),
    'application/json; charset=utf-8',
  );
  return operation(
    {
      id: 'getOpenapiJson',
      method: 'GET',
      path: '/openapi.json',
      tag: 'Service',
      summary: 'Download this document as JSON',
      scope: 'public',
      responses: {
        200: {
          description: 'The OpenAPI 3.1 document.',
          body: Type.Object({}, { additionalProperties: true }),
          headers: ENTITY_TAG,
        },
        304: NOT_MODIFIED,
      },
    },
    (request) => respond((name) => request.header(name)),
  );
}

export function getOpenapi30Json(deps: { document: () => object }): Operation {
  const respond = documentResponder(
    () => JSON.stringify(toOpenapi30(deps.document())),
    'application/json; charset=utf-8',
  );
  return operation(
    {
      id: 'getOpenapi30Json',
      method: 'GET',
      path: '/openapi-3.0.json',
      tag: 'Service',
      summary: 'Download this document in OpenAPI 3.0',
      description:
        'For client generators that do not read OpenAPI 3.1, such as OpenAPI Generator for Go and ' +
        'Java. Where a field accepts several forms, it has the most general one; webhook payloads ' +
        'and the filter by metadata are left out.',
      scope: 'public',
      responses: {
        200: {
          description: 'The OpenAPI 3.0 document.',
          body: Type.Object({}, { additionalProperties: true }),
          headers: ENTITY_TAG,
        },
        304: NOT_MODIFIED,
      },
    },
    (request) => respond((name) => request.header(name)),
  );
}

export function getOpenapiYaml(deps: { document: () => object }): Operation {
  const respond = documentResponder(
    () => stringify(deps.document(), { aliasDuplicateObjects: false }),
    'application/yaml',
  );
  return operation(
    {
      id: 'getOpenapiYaml',
      method: 'GET',
      path: '/openapi.yaml',
      tag: 'Service',
      summary: 'Download this document as YAML',
      scope: 'public',
      responses: {
        200: {
          description: 'The OpenAPI 3.1 document.',
          mediaType: 'application/yaml',
          body: Type.String(),
          headers: ENTITY_TAG,
        },
        304: NOT_MODIFIED,
      },
    },
    (request) => respond((name) => request.header(name)),
  );
}

const ENTITY_TAG = {
  ETag: { description: 'Identifies this version of the document.', schema: Type.String() },
};

const NOT_MODIFIED = {
  description: 'The document has not changed: `If-None-Match` named its `ETag`.',
  headers: ENTITY_TAG,
};
