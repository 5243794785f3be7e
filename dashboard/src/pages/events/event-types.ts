import type { Schema } from '../../api/client.ts';

/** What a test can send, without the confirmation that is not an event. */
export type EventType = Exclude<
  NonNullable<Schema<'TestWebhook'>['type']>,
  'subscription_confirmation'
>;

/** Every event type, in the order of a message's life. The type makes the compiler check completeness. */
const DESCRIPTIONS: Record<EventType, string> = {
  'message.accepted': 'Accepted and queued',
  'message.scheduled': 'Scheduled for later',
  'message.rescheduled': 'Scheduled time changed',
  'message.cancelled': 'Cancelled before delivery',
  'message.suppressed': 'Not sent: address is suppressed',
  'message.deferred': 'Temporarily rejected, will retry',
  'message.delivered': 'Accepted by the receiving server',
  'message.bounced': 'Permanently rejected by the receiving server',
  'message.failed': 'Could not be sent',
  'message.expired': 'Not delivered before it expired',
  'message.complained': 'Marked as spam by the recipient',
  'message.unsubscribed': 'Unsubscribed by the recipient',
  'message.opened': 'Tracking pixel loaded',
  'message.clicked': 'Tracked link clicked',
  'inbound_message.received': 'Mail received',
  'domain.verified': 'All DNS records found',
  'domain.degraded': 'A DNS record is missing',
  'domain.claimed': 'Verified by another workspace',
  'template.published': 'New version published',
  'suppression.created': 'Address added to the suppression list',
  'suppression.deleted': 'Address removed from the suppression list',
  'api_key.created': 'API key created',
  'api_key.rotated': 'API key rotated',
  'api_key.expiring': 'API key expires within a week',
  'api_key.revoked': 'API key revoked',
  'webhook.disabled': 'Webhook endpoint disabled',
  'workspace.slowed': 'Sending slowed down because of bounces or complaints',
  'workspace.paused': 'Sending paused because of bounces or complaints',
  'workspace.released': 'Sending no longer slowed down or paused',
  'quota.warning': 'A quota is nearly used up',
  'quota.exceeded': 'A quota is used up',
  'alarm.raised': 'A bounce rate, complaint rate or queue time is too high',
  'alarm.cleared': 'Alarm cleared',
  'audit.recorded': 'Change by a member, API key or the command line',
};

const EVENT_TYPES = Object.keys(DESCRIPTIONS) as EventType[];

export function describeEventType(type: string): string {
  return (DESCRIPTIONS as Record<string, string>)[type] ?? '';
}

const FAMILY_NAMES: Record<string, string> = {
  message: 'Messages',
  inbound_message: 'Inbound',
  domain: 'Domains',
  template: 'Templates',
  suppression: 'Suppressions',
  api_key: 'API keys',
  webhook: 'Webhooks',
  workspace: 'Workspace',
  quota: 'Quotas',
  alarm: 'Alarms',
  audit: 'Audit log',
};

export interface EventFamily {
  /** The first part of the event types. */
  id: string;
  name: string;
  types: EventType[];
}

/** Audit events are selected by name, never with `*`, and only by members who may read the audit log. */
export const AUDIT_FAMILY = 'audit';

export function selectsAuditEvents(events: readonly string[]): boolean {
  return events.some((type) => type.startsWith(`${AUDIT_FAMILY}.`));
}

export const EVENT_FAMILIES: EventFamily[] = [
  ...Map.groupBy(EVENT_TYPES, (type) => type.split('.')[0] as string),
].map(([id, types]) => ({ id, name: FAMILY_NAMES[id] ?? id, types }));
