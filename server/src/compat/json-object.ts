import { parseJsonBody } from '../http/server/json-body.ts';
import { invalidFields } from '../lib/refused-error.ts';

/** An object that a field contains as JSON text. */
export function parseJsonObject(
  text: string,
  pointer: string,
  detail = 'Must be a JSON object.',
): Record<string, unknown> {
  try {
    // With the limits of a body, because this JSON comes from outside too.
    const { value, textErrors } = parseJsonBody(Buffer.from(text));
    if (isObject(value) && textErrors.length === 0) return value;
  } catch {
    // The same answer as for JSON that is not an object.
  }
  throw invalidFields([{ pointer, code: 'invalid_format', detail }]);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
