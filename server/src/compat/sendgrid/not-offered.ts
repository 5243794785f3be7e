import type { NotOffered } from '../compat-provider.ts';

const DOMAINS = 'Senders are authenticated by domain: `/api/v1/domains`, or the dashboard.';
const GROUPS =
  'Unsubscribe groups are streams: `/api/v1/streams` and, with the key of a stream, `/api/v1/suppressions`.';
const MARKETING = 'Marketing campaigns are not offered. Contacts are at `/api/v1/contacts`.';
const VISITORS =
  'Nothing is recorded about who opens emails and follows links. `GET /v3/stats` has the counts.';
const WORKSPACES =
  'Tenants and their members are workspaces, in the dashboard and the operator API.';
const OPERATOR = 'The operator selects the addresses that mail is sent from.';
const SETTINGS = 'Tracking and unsubscribe links are settings of domains, streams and messages.';

export const NOT_OFFERED: readonly NotOffered[] = [
  {
    path: '/v3/templates',
    reason:
      'Templates are changed with `/api/v1/templates`, in the dashboard, or as files with `postrider templates push`.',
  },
  { path: '/v3/asm/groups', reason: GROUPS },
  { path: '/v3/asm/suppressions', reason: GROUPS },
  {
    path: '/v3/messages',
    reason: 'Sent messages and their events are at `GET /api/v1/messages`.',
  },
  {
    path: '/v3/user/webhooks',
    reason:
      'Webhook endpoints are created with `POST /api/v1/webhooks` or in the dashboard: those with the `format` `sendgrid` send the events of SendGrid. Inbound mail is `inbound_message.received`.',
  },
  { path: '/v3/api_keys', reason: 'API keys are at `/api/v1/api-keys` and in the dashboard.' },
  { path: '/v3/whitelabel', reason: DOMAINS },
  { path: '/v3/verified_senders', reason: DOMAINS },
  { path: '/v3/senders', reason: DOMAINS },
  { path: '/v3/ips', reason: OPERATOR },
  { path: '/v3/marketing', reason: MARKETING },
  { path: '/v3/contactdb', reason: MARKETING },
  { path: '/v3/campaigns', reason: MARKETING },
  { path: '/v3/designs', reason: MARKETING },
  {
    path: '/v3/validations',
    reason:
      'Addresses are not validated in advance. A send refuses those that are not addresses, and hard bounces are suppressed.',
  },
  { path: '/v3/mail_settings', reason: SETTINGS },
  { path: '/v3/tracking_settings', reason: SETTINGS },
  { path: '/v3/subusers', reason: WORKSPACES },
  { path: '/v3/teammates', reason: WORKSPACES },
  { path: '/v3/user', reason: WORKSPACES },
  {
    path: '/v3/categories',
    reason: 'Categories are tags: `GET /api/v1/stats?group_by=tag` lists and counts them.',
  },
  { path: '/v3/geo/stats', reason: VISITORS },
  { path: '/v3/devices/stats', reason: VISITORS },
  { path: '/v3/clients/stats', reason: VISITORS },
  { path: '/v3/browsers/stats', reason: VISITORS },
  {
    path: '/v3/mailbox_providers/stats',
    reason: '`GET /api/v1/stats?group_by=receiver` counts by receiver.',
  },
];
