import { openDocument } from './openapi-validator.ts';

/** Holds an event against the schema that the OpenAPI document's `webhooks` gives for its type. */
export type EventCheck = (event: { type: string }) => void;

export async function eventCheck(base: string): Promise<EventCheck> {
  const { document, faultsOf } = await openDocument<{ webhooks: Record<string, unknown> }>(base);
  return (event) => {
    const { type } = event;
    if (!document.webhooks[type]) throw new Error(`${type} is not documented`);
    const pointer = `#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
    const faults = faultsOf(pointer, event);
    if (faults !== undefined) throw new Error(`${type} is not as documented:\n${faults}`);
  };
}
