import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { closedDocument } from './answer-schemas.ts';

/** Holds an event against the schema that the OpenAPI document's `webhooks` gives for its type. */
export type EventCheck = (event: { type: string }) => void;

interface Document {
  webhooks: Record<string, unknown>;
}

export async function eventCheck(base: string): Promise<EventCheck> {
  const response = await fetch(`${base}/api/v1/openapi.json`);
  const document = (await response.json()) as Document;
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    allErrors: true,
  });
  ajv.addSchema(closedDocument(document), 'document');
  const validators = new Map<string, ValidateFunction>();
  return (event) => {
    const { type } = event;
    if (!document.webhooks[type]) throw new Error(`${type} is not documented`);
    let validate = validators.get(type);
    if (!validate) {
      const pointer = `#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
      validate = ajv.compile({ $ref: `document${pointer}` });
      validators.set(type, validate);
    }
    if (validate(event)) return;
    const faults = validate.errors?.map(
      (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    );
    throw new Error(`${type} is not as documented:\n${faults?.join('\n')}`);
  };
}
