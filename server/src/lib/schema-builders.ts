import type { TSchema } from 'typebox';
import { Type } from 'typebox';

/** An object without additional properties, so that misspelled fields are reported. */
export function closed<P extends Record<string, TSchema>>(properties: P, options: object = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The same schema with its own description, which OpenAPI allows beside a reference. */
export function withDescription<T extends TSchema>(schema: T, note: string): T {
  return { ...schema, 'x-note': note };
}

export function oneOf<const T extends readonly string[]>(values: T, options: object = {}) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
}
