import type { TSchema } from 'typebox';
import { Type } from 'typebox';

/** Pieces that all schemas share. Schemas with a `title` become named components in OpenAPI. */

export const Time = Type.String({
  format: 'date-time',
  description: 'RFC 3339, UTC, with milliseconds.',
  examples: ['2026-11-15T09:30:00.000Z'],
});

export const NullableTime = Type.Union([Time, Type.Null()]);

export function id(prefix: string, what: string): TSchema {
  return Type.String({
    pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`,
    description: `The id of ${what}.`,
    examples: [`${prefix}_01kc8x3f7ye6qvj2m4n5p6q7r8`],
  });
}

/** Path parameters are looked up, not validated: an id that cannot be one is simply not found. */
export function pathId(prefix: string, what: string): TSchema {
  return Type.Object({
    id: Type.String({
      description: `The id of ${what}.`,
      examples: [`${prefix}_01kc8x3f7ye6qvj2m4n5p6q7r8`],
    }),
  });
}

/** Closed objects: a field that is not known is a mistake worth telling. */
export function closed<P extends Record<string, TSchema>>(properties: P, options: object = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The same schema, with words for this one place: OpenAPI writes them beside the reference. */
export function withDescription<T extends TSchema>(schema: T, note: string): T {
  return { ...schema, 'x-note': note };
}

export function oneOf<const T extends readonly string[]>(values: T, options: object = {}) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
}

export const Mode = oneOf(['live', 'test'] as const, {
  description: '`live` mail leaves the house; `test` mail ends in the test inbox.',
});

export const PAGE = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'How many at the most.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 512,
      description: '`next_cursor` of the page before. Stable while new rows arrive.',
    }),
  ),
};

export const LIMIT_DEFAULT = 20;

/** Words that a list is searched for. */
export function searchQuery(description: string) {
  return Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }));
}

export function page(item: TSchema, title: string): TSchema {
  return Type.Object(
    {
      data: Type.Array(item),
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description: 'Null on the last page.',
        examples: [null],
      }),
    },
    { title },
  );
}

export const Metadata = Type.Record(
  Type.String({ minLength: 1, maxLength: 64 }),
  Type.String({ maxLength: 1024 }),
  {
    maxProperties: 20,
    description:
      'Up to 20 string pairs of yours: returned everywhere, never sent to the recipient.',
    examples: [{ order_id: '1234' }],
  },
);

export const Tag = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', examples: ['welcome'] });

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'A page about this kind of problem.' }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ description: 'The name of the problem, for programs.' }),
    detail: Type.String({ description: 'What happened this time, for people.' }),
    fix: Type.String({ description: 'What to do about it.' }),
    request_id: Type.String({ description: 'Also in X-Request-Id; the log knows it.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.Optional(Type.String({ description: 'JSON Pointer into the body.' })),
          parameter: Type.Optional(Type.String({ description: 'Name of the query parameter.' })),
          code: Type.String(),
          detail: Type.String(),
          path: Type.Optional(Type.String({ description: 'The placeholder.' })),
          field: Type.Optional(Type.String({ description: 'The text that it stands in.' })),
          line: Type.Optional(Type.Integer()),
          column: Type.Optional(Type.Integer()),
        }),
      ),
    ),
  },
  { title: 'Problem', description: 'RFC 9457 problem details.' },
);
