import { Type } from 'typebox';
import { Time } from '../../openapi/shared-schemas.ts';

/** The findings of template checks, and the result of publishing. */

export const Finding = Type.Object(
  {
    code: Type.String({ description: 'Machine-readable code, such as `image_without_alt`.' }),
    message: Type.String({ description: 'Human-readable message.' }),
    field: Type.String({ description: 'The field, such as `html` or `locales.de.subject`.' }),
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

export const PUBLICATION = {
  key: 'welcome',
  version: 3,
  published_at: '2026-11-15T09:30:00.000Z',
  published_by: 'key_01kc8wzq4he2x9v7n5m3k1j0h8',
  note: 'Friendlier wording',
  warnings: [WARNING],
  touches: [],
};

export const Publication = Type.Object(
  {
    key: Type.String(),
    version: Type.Integer({ description: 'The version that sends use from now on.' }),
    published_at: Time,
    published_by: Type.String(),
    note: Type.Union([Type.String(), Type.Null()]),
    warnings: Type.Array(Finding, { description: 'Warnings. Errors block publishing.' }),
    touches: Type.Array(
      Type.Object({
        key: Type.String(),
        version: Type.Integer(),
        new_variables: Type.Array(Type.String(), {
          description: 'Variables that sends must now provide.',
        }),
      }),
      { description: 'Templates that change because they use this layout or partial.' },
    ),
  },
  {
    title: 'Publication',
    examples: [PUBLICATION],
  },
);

export const Checked = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether the content can be published and sent.' }),
    errors: Type.Array(Finding),
    warnings: Type.Array(Finding),
  },
  { title: 'Checked', examples: [{ ok: true, errors: [], warnings: [WARNING] }] },
);
