import { Type } from 'typebox';
import { stringify } from 'yaml';
import { operation } from '../../operation.ts';

/** The document is made after all operations are known, so it is asked for, not given. */
export function getOpenapiJson(parts: { document: () => object }) {
  let text: string | undefined;
  return operation(
    {
      id: 'getOpenapiJson',
      method: 'GET',
      path: '/openapi.json',
      tag: 'Service',
      summary: 'Download this document as JSON',
      scope: 'public',
      answers: {
        200: {
          description: 'The OpenAPI 3.1 document.',
          body: Type.Object({}, { additionalProperties: true }),
        },
      },
    },
    () => {
      text ??= JSON.stringify(parts.document());
      return { status: 200, body: text };
    },
  );
}

export function getOpenapiYaml(parts: { document: () => object }) {
  let text: string | undefined;
  return operation(
    {
      id: 'getOpenapiYaml',
      method: 'GET',
      path: '/openapi.yaml',
      tag: 'Service',
      summary: 'Download this document as YAML',
      scope: 'public',
      answers: {
        200: {
          description: 'The OpenAPI 3.1 document.',
          mediaType: 'application/yaml',
          body: Type.String(),
        },
      },
    },
    () => {
      text ??= stringify(parts.document(), { aliasDuplicateObjects: false });
      return { status: 200, body: text, mediaType: 'application/yaml' };
    },
  );
}
