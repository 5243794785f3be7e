import type { NotOffered } from '../compat-provider.ts';

const WEBHOOKS =
  'Webhook endpoints are created with `POST /api/v1/webhooks` or in the dashboard: those with the `format` `mailgun` send the payloads of Mailgun.';
const DOMAINS =
  'Domains are added, changed and removed with `/api/v1/domains` or in the dashboard.';
const OPERATOR = 'The operator selects the addresses that mail is sent from.';
const ONE_BY_ONE = 'A list is not deleted as a whole. Delete its addresses one by one.';
const TAGS = 'Tags need no definition. `GET /api/v1/stats?group_by=tag` lists and counts them.';
const SUBACCOUNTS = 'Tenants are workspaces, in the dashboard and the operator API.';
const VALIDATION =
  'Addresses are not validated in advance. A send refuses those that are not addresses, and hard bounces are suppressed.';

export const NOT_OFFERED: readonly NotOffered[] = [
  { path: '/v3/domains/{domain}/webhooks', reason: WEBHOOKS },
  { path: '/v4/domains/{domain}/webhooks', reason: WEBHOOKS },
  { path: '/v1/webhooks', reason: WEBHOOKS },
  {
    path: '/v3/domains/{domain}/credentials',
    reason: 'SMTP passwords are API keys: `/api/v1/api-keys`.',
  },
  {
    path: '/v3/domains/{domain}/tracking',
    reason: 'Tracking is a setting of the domain: `PATCH /api/v1/domains/{id}`.',
  },
  {
    path: '/v3/domains/{domain}/connection',
    reason: 'TLS is a setting of the domain: `PATCH /api/v1/domains/{id}` with `tls`.',
  },
  { path: '/v3/domains/{domain}/ips', reason: OPERATOR },
  { path: '/v3/domains', reason: DOMAINS },
  { path: '/v4/domains', reason: DOMAINS },
  { path: '/v1/dkim', reason: 'Keys are rotated with `POST /api/v1/domains/{id}/rotate-dkim`.' },
  {
    path: '/v1/dkim_management',
    reason: 'Keys are rotated with `POST /api/v1/domains/{id}/rotate-dkim`.',
  },
  { path: '/v1/analytics/tags', reason: TAGS },
  {
    path: '/v1/analytics',
    reason:
      '`GET /api/v1/usage` has the usage of the workspace, and `GET /api/v1/stats` its counts.',
  },
  { path: '/v3/{domain}/tags', reason: TAGS },
  { path: '/v3/{domain}/tag', reason: TAGS },
  { method: 'DELETE', path: '/v3/{domain}/bounces', reason: ONE_BY_ONE },
  { method: 'DELETE', path: '/v3/{domain}/unsubscribes', reason: ONE_BY_ONE },
  { method: 'DELETE', path: '/v3/{domain}/complaints', reason: ONE_BY_ONE },
  {
    path: '/v3/{domain}/bounces/import',
    reason: 'Lists are imported with `POST /api/v1/suppressions/bulk`, or as JSON.',
  },
  {
    path: '/v3/{domain}/unsubscribes/import',
    reason: 'Lists are imported with `POST /api/v1/suppressions/bulk`, or as JSON.',
  },
  {
    path: '/v3/{domain}/complaints/import',
    reason: 'Lists are imported with `POST /api/v1/suppressions/bulk`, or as JSON.',
  },
  {
    path: '/v3/{domain}/whitelists',
    reason: 'There is no allowlist. Delete an address from the list that it is on.',
  },
  {
    method: 'DELETE',
    path: '/v3/{domain}/templates',
    reason: 'Templates are deleted one by one, and their versions are kept.',
  },
  {
    path: '/v3/routes',
    reason:
      'Inbound mail is not routed by rules: every message is an event `inbound_message.received`, and its receiver decides.',
  },
  {
    path: '/v3/lists',
    reason: 'Mailing lists are not offered. Contacts are at `/api/v1/contacts`.',
  },
  { path: '/v3/ips', reason: OPERATOR },
  { path: '/v3/ip_pools', reason: OPERATOR },
  { path: '/v4/address', reason: VALIDATION },
  { path: '/v4/inbox', reason: 'Inbox placement is not tested.' },
  { path: '/v5/accounts', reason: SUBACCOUNTS },
  { path: '/v1/keys', reason: 'API keys are at `/api/v1/api-keys` and in the dashboard.' },
];
