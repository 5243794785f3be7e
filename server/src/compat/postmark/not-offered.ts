import type { NotOffered } from '../compat-provider.ts';

export const ACCOUNT_API =
  'The account API of Postmark is not offered. Domains are at `/api/v1/domains`, and a server is a workspace with its own API keys.';
const INBOUND =
  'Inbound mail is neither filtered nor held: every message is an event. `POST /api/v1/webhooks/{id}/replay` sends the event again.';

export const NOT_OFFERED: readonly NotOffered[] = [
  {
    path: '/email/bulk',
    reason:
      'Bulk requests are not offered. Send the messages with `/email/batch` or `/email/batchWithTemplates`.',
  },
  {
    path: '/data-removals',
    reason:
      'An address is erased from contacts and messages with `DELETE /api/v1/contacts/{email}?erase=true`.',
  },
  {
    path: '/webhooks',
    reason:
      'Webhook endpoints are created with `POST /api/v1/webhooks` or in the dashboard: those with the `format` `postmark` send the payloads of Postmark.',
  },
  { path: '/triggers', reason: INBOUND },
  { path: '/messages/inbound/{id}/bypass', reason: INBOUND },
  { path: '/messages/inbound/{id}/retry', reason: INBOUND },
  {
    path: '/message-streams/{id}/archive',
    reason: 'Streams are not archived. `DELETE /api/v1/streams/{key}` deletes a stream.',
  },
  {
    path: '/message-streams/{id}/unarchive',
    reason: 'Streams are not archived. `DELETE /api/v1/streams/{key}` deletes a stream.',
  },
  {
    method: 'PUT',
    path: '/server',
    reason: 'Tracking, senders and retention are settings of domains and streams.',
  },
  { path: '/servers', reason: ACCOUNT_API },
  { path: '/domains', reason: ACCOUNT_API },
  { path: '/senders', reason: ACCOUNT_API },
];
