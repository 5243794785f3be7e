/** Example templates for the reference. */

const TIMES = {
  published_at: '2026-11-15T09:30:00.000Z',
  created_at: '2026-11-01T08:00:00.000Z',
  updated_at: '2026-11-15T09:29:00.000Z',
  updated_by: 'key_01kc8wzq4he2x9v7n5m3k1j0h8',
};

export const TEMPLATE = {
  id: 'tpl_01kc8x3f7ye6qvj2m4n5p6q7r8',
  key: 'welcome',
  name: 'Welcome',
  published_version: 3,
  has_unpublished_changes: false,
  subject: 'Welcome, ${first_name}',
  html: '<p>Hello {{ first_name }}, good to have you.</p>',
  text: null,
  from: { email: 'hello@yourdomain.com', name: 'Your App' },
  reply_to: [],
  stream: null,
  layout: 'main',
  locales: { de: { subject: 'Willkommen, ${first_name}', html: '<p>Hallo {{ first_name }}!</p>' } },
  // A variable has `type`, `default` and `example`, so linters mistake it for a schema.
  variables: [],
  ...TIMES,
  etag: '"tpl_01kc8x3f7ye6qvj2m4n5p6q7r8.7"',
};

export const LAYOUT = {
  id: 'lay_01kc8x3f7ye6qvj2m4n5p6q7r8',
  key: 'main',
  name: 'Main',
  published_version: 2,
  has_unpublished_changes: true,
  html: '<html><body><main>{{ content }}</main>{% render "footer" %}</body></html>',
  text: null,
  locales: {},
  ...TIMES,
  etag: '"lay_01kc8x3f7ye6qvj2m4n5p6q7r8.7"',
};

export const PARTIAL = {
  id: 'prt_01kc8x3f7ye6qvj2m4n5p6q7r8',
  key: 'footer',
  name: 'Footer',
  published_version: 1,
  has_unpublished_changes: false,
  html: '<p>Example Ltd., 1 High Street</p>',
  text: 'Example Ltd., 1 High Street',
  locales: {},
  ...TIMES,
  etag: '"prt_01kc8x3f7ye6qvj2m4n5p6q7r8.7"',
};

export const VERSION = {
  key: 'welcome',
  version: 3,
  current: true,
  published_at: '2026-11-15T09:30:00.000Z',
  published_by: 'key_01kc8wzq4he2x9v7n5m3k1j0h8',
  note: 'Friendlier wording',
  publications: [
    {
      published_at: '2026-11-15T09:30:00.000Z',
      published_by: 'key_01kc8wzq4he2x9v7n5m3k1j0h8',
      note: 'Friendlier wording',
    },
  ],
};
