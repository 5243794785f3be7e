import type { NotOffered } from '../compat-provider.ts';

export const CONTACT_IMPORTS = 'Contacts are imported with `POST /api/v1/contacts/import`.';
const SEGMENTS =
  'Contacts have no segments or audiences here: leave out the id. Topics are offered, as streams.';
const SHARED_LINKS = 'Emails have no public links. `GET /emails/{id}` has the content.';

export const NOT_OFFERED: readonly NotOffered[] = [
  {
    path: '/broadcasts',
    reason:
      'Broadcasts are not offered. `POST /api/v1/transactional/bulk` sends one content to many recipients.',
  },
  {
    path: '/automations',
    reason: 'Automations are not offered. Send their emails from your own program.',
  },
  {
    path: '/events',
    reason: 'Automations and their events are not offered. Send the emails from your own program.',
  },
  { path: '/segments', reason: SEGMENTS },
  { path: '/audiences', reason: SEGMENTS },
  { path: '/contacts/{id}/segments', reason: SEGMENTS },
  { path: '/contacts/imports', reason: CONTACT_IMPORTS },
  {
    path: '/contact-properties',
    reason: 'Properties need no definition: a contact can have any `properties`.',
  },
  {
    path: '/inboxes',
    reason: 'Shared inboxes are not offered. `GET /emails/receiving` lists received emails.',
  },
  { path: '/emails/{id}/share', reason: SHARED_LINKS },
  {
    path: '/logs',
    reason: '`GET /api/v1/requests` and the dashboard have the log of requests.',
  },
  { path: '/usage', reason: '`GET /api/v1/usage` has the usage of the workspace.' },
  { path: '/oauth', reason: 'Programs have access by API keys, not by OAuth.' },
  {
    path: '/webhooks',
    reason:
      'Webhook endpoints are created with `POST /api/v1/webhooks` or in the dashboard: those with the `format` `resend` send the payloads of Resend.',
  },
  {
    path: '/domains/claim',
    reason:
      'Domains are verified by their DNS records: `POST /domains`, then `/domains/{id}/verify`.',
  },
  {
    path: '/domains/{id}/claim',
    reason: 'Domains are verified by their DNS records: `POST /domains/{id}/verify`.',
  },
  {
    path: '/templates/{id}/duplicate',
    reason: 'Templates are not copied. Read the template, and create another one.',
  },
];
