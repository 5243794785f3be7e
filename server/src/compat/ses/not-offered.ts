import type { NotOffered } from '../compat-provider.ts';

const TENANTS = 'Tenants are workspaces, each with its own credentials.';
const OPERATOR = 'The operator selects the addresses that mail is sent from, and warms them up.';

export const NOT_OFFERED: readonly NotOffered[] = [
  {
    path: '/v2/email/configuration-sets',
    reason:
      'Configuration sets are not created: their name in a send becomes a tag. Events are sent to webhook endpoints with the `format` `ses-sns`, from `POST /api/v1/webhooks`.',
  },
  {
    path: '/v2/email/identities',
    reason: 'Domains are added, changed and removed with `/api/v1/domains` or in the dashboard.',
  },
  {
    path: '/v2/email/contact-lists',
    reason:
      'Contact lists and their topics are streams: `/api/v1/streams`. Contacts are at `/api/v1/contacts`.',
  },
  {
    path: '/v2/email/templates/{name}/render',
    reason: 'Templates are rendered with `POST /api/v1/templates/{key}/render`.',
  },
  {
    path: '/v2/email/metrics',
    reason: '`GET /api/v1/stats` has the counts.',
  },
  {
    path: '/v2/email/insights',
    reason: '`GET /api/v1/messages/{id}` has the events of a message.',
  },
  {
    path: '/v2/email/import-jobs',
    reason:
      'Suppressions are imported with `POST /api/v1/suppressions/bulk`, and contacts with `POST /api/v1/contacts/import`.',
  },
  {
    path: '/v2/email/export-jobs',
    reason:
      'Messages and events are exported with `GET /api/v1/messages/export` and `/events/export`.',
  },
  { path: '/v2/email/tenants', reason: TENANTS },
  { path: '/v2/email/dedicated-ips', reason: OPERATOR },
  { path: '/v2/email/dedicated-ip-pools', reason: OPERATOR },
];
