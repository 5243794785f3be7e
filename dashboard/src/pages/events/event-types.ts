import type { Schema } from '../../api/client.ts';

export type EventType = NonNullable<Schema<'TestWebhook'>['type']>;

/** Every type of event, in the order of a message's life; the compiler misses none. */
const DESCRIPTIONS: Record<EventType, string> = {
  'message.accepted': 'Stored and queued',
  'message.scheduled': 'Waits for its time',
  'message.rescheduled': 'Got another time',
  'message.cancelled': 'Taken back before it left',
  'message.suppressed': 'Not sent, the address is suppressed',
  'message.deferred': 'Not taken yet, tried again',
  'message.delivered': 'A receiver took it',
  'message.bounced': 'A receiver refused it for good',
  'message.failed': 'We could not send it',
  'message.expired': 'Its time ran out',
  'message.complained': 'The recipient called it spam',
  'message.opened': 'Read, as far as pictures tell',
  'message.clicked': 'A link was followed',
  'domain.verified': 'All records were found',
  'domain.degraded': 'A record has vanished',
  'domain.claimed': 'Another workspace proved that it owns it',
  'template.published': 'A new version is in use',
  'suppression.created': 'An address is not written to any more',
  'suppression.deleted': 'An address may be written to again',
  'api_key.created': 'A key was made',
  'api_key.rotated': 'A key has a new secret',
  'api_key.expiring': 'A key ends within a week',
  'api_key.revoked': 'A key was ended',
  'webhook.disabled': 'An endpoint was switched off',
  'alarm.raised': 'A rate or a wait is too high',
  'alarm.cleared': 'An alarm is over',
};

export const EVENT_TYPES = Object.keys(DESCRIPTIONS) as EventType[];

export function describeEventType(type: string): string {
  return (DESCRIPTIONS as Record<string, string>)[type] ?? '';
}

const FAMILY_NAMES: Record<string, string> = {
  message: 'Messages',
  domain: 'Domains',
  template: 'Templates',
  suppression: 'Suppressions',
  api_key: 'API keys',
  webhook: 'Webhooks',
  alarm: 'Alarms',
};

export interface EventFamily {
  /** The first part of the types. */
  id: string;
  name: string;
  types: EventType[];
}

export const EVENT_FAMILIES: EventFamily[] = [
  ...Map.groupBy(EVENT_TYPES, (type) => type.split('.')[0] as string),
].map(([id, types]) => ({ id, name: FAMILY_NAMES[id] ?? id, types }));
