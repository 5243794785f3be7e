import { Type } from 'typebox';
import { stringify } from 'yaml';
import { type Operation, operation } from '../../operation.ts';

/** The document is built from all operations, so it is passed as a function. */
export function getOpenapiJson(deps: { document: () => object }): Operation {
  let text: string | undefined;
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
        },
      },
    },
    () => {
      text ??= JSON.stringify(deps.document());
      return { status: 200, body: text };
    },
  );
}

export function getOpenapiYaml(deps: { document: () => object }): Operation {
  let text: string | undefined;
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
        },
      },
    },
    () => {
      text ??= stringify(deps.document(), { aliasDuplicateObjects: false });
      return { status: 200, body: text, mediaType: 'application/yaml' };
    },
  );
}
