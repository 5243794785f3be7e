import { Type } from 'typebox';
import { Time } from '../../openapi/shared-schemas.ts';

/** What is found in a template before it goes out, and what publishing it means. */

export const Finding = Type.Object(
  {
    code: Type.String({ description: 'For programs, such as `image_without_alt`.' }),
    message: Type.String({ description: 'For people.' }),
    field: Type.String({ description: 'Where: `html`, `locales.de.subject`.' }),
    line: Type.Integer(),
    column: Type.Integer(),
  },
  { title: 'Finding' },
);

const WARNING = {
  code: 'image_without_alt',
  message: 'The image has no `alt` text; many clients show that until images are allowed.',
  field: 'html',
  line: 12,
  column: 5,
};

export const Publication = Type.Object(
  {
    key: Type.String(),
    version: Type.Integer({ description: 'What sends use from now on.' }),
    published_at: Time,
    published_by: Type.String(),
    note: Type.Union([Type.String(), Type.Null()]),
    warnings: Type.Array(Finding, { description: 'What might disappoint. Errors refuse.' }),
    touches: Type.Array(
      Type.Object({
        key: Type.String(),
        version: Type.Integer(),
        new_variables: Type.Array(Type.String(), {
          description: 'What a send from it must give from now on.',
        }),
      }),
      { description: 'Templates that go out changed, because they use this layout or partial.' },
    ),
  },
  {
    title: 'Publication',
    examples: [
      {
        key: 'welcome',
        version: 3,
        published_at: '2026-11-15T09:30:00.000Z',
        published_by: 'key_01kc8wzq4he2x9v7n5m3k1j0h8',
        note: 'Friendlier words',
        warnings: [WARNING],
        touches: [],
      },
    ],
  },
);

export const Checked = Type.Object(
  {
    ok: Type.Boolean({ description: 'Nothing stands in the way of publishing or sending.' }),
    errors: Type.Array(Finding),
    warnings: Type.Array(Finding),
  },
  { title: 'Checked', examples: [{ ok: true, errors: [], warnings: [WARNING] }] },
);
