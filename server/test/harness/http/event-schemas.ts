import { openapiValidator } from './openapi-validator.ts';

/** Validates an event against the schema that the OpenAPI document's `webhooks` gives for its type. */
export type EventCheck = (event: { type: string }) => void;

export async function createEventCheck(baseUrl: string): Promise<EventCheck> {
  const { document, errorsFor } = await openapiValidator<{ webhooks: Record<string, unknown> }>(
    baseUrl,
  );
  return (event) => {
    const { type } = event;
    if (!document.webhooks[type]) throw new Error(`${type} is not documented`);
    const pointer = `#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
    const errors = errorsFor(pointer, event);
    if (errors !== undefined) throw new Error(`${type} does not match its schema:\n${errors}`);
  };
}
