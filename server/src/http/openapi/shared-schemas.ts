import type { TSchema } from 'typebox';
import { Type } from 'typebox';
import { oneOf } from '../../lib/schema-builders.ts';

export { closed, oneOf, withDescription } from '../../lib/schema-builders.ts';
export { Metadata, Tag } from '../../messages/accept/send-request.ts';

/**
 * Schemas and schema builders shared by all resources. A schema with a `title` becomes a named
 * component in the OpenAPI document.
 */

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

/**
 * A name or a reason: one line that is not blank. The pattern begins with everything that may precede
 * the first visible character, so it takes linear time for any text: patterns are also tested on text
 * that is too long.
 */
export function singleLine(options: { maxLength: number } & Record<string, unknown>) {
  const pattern = '^ *[^\\x00-\\x20\\x7f][^\\x00-\\x1f\\x7f]*$';
  return Type.String({ minLength: 1, pattern, ...options });
}

/** Of a text field: white space alone is refused. */
export const NOT_BLANK = 'x-not-blank';

/** Path ids are looked up, not validated: a malformed id is simply not found. */
export function pathId(prefix: string, what: string): TSchema {
  return Type.Object({
    id: Type.String({
      description: `The id of ${what}.`,
      examples: [`${prefix}_01kc8x3f7ye6qvj2m4n5p6q7r8`],
    }),
  });
}

export const Mode = oneOf(['live', 'test'] as const, {
  description: '`live` mail is delivered to recipients; `test` mail goes to the test inbox.',
});

export const PAGE = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 20,
      description: 'Maximum number of results.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 512,
      description: '`next_cursor` of the previous page. Stable while new rows arrive.',
    }),
  ),
};

export const LIMIT_DEFAULT = 20;

/** The `q` parameter of a list. */
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

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'URL of a page about this type of problem.' }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ description: 'Machine-readable problem code.' }),
    detail: Type.String({ description: 'Human-readable explanation of this occurrence.' }),
    fix: Type.String({ description: 'How to fix it.' }),
    request_id: Type.String({ description: 'Also in X-Request-Id and in the log.' }),
    quota: Type.Optional(
      Type.Object(
        {
          name: Type.String({ examples: ['messages_per_day'] }),
          resets_at: NullableTime,
        },
        { description: 'For `quota_exceeded`: the quota, and when it is reset.' },
      ),
    ),
    moved_to: Type.Optional(
      Type.String({
        description: 'For `workspace_moved`: the URL of the server that has the workspace now.',
      }),
    ),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.Optional(
            Type.String({ description: 'JSON Pointer to the field in the body.' }),
          ),
          parameter: Type.Optional(Type.String({ description: 'Name of the query parameter.' })),
          code: Type.String(),
          detail: Type.String(),
          path: Type.Optional(Type.String({ description: 'The placeholder.' })),
          field: Type.Optional(Type.String({ description: 'The content field that contains it.' })),
          line: Type.Optional(Type.Integer()),
          column: Type.Optional(Type.Integer()),
        }),
      ),
    ),
  },
  { title: 'Problem', description: 'RFC 9457 problem details.' },
);
