import { EVENT_TYPES, type EventType } from '../../events/event-types.ts';
import { type EventBodyInput, eventBody } from '../../events/events-store.ts';
import type { MessageHeader } from '../../messages/lookup/message-header-store.ts';
import { mailgun } from './mailgun.ts';
import { postmark } from './postmark.ts';
import { resend } from './resend.ts';
import { sendgrid } from './sendgrid.ts';
import { sesSns } from './ses-sns.ts';
import { standardHeaders } from './standard-headers.ts';
import type { SourceData, WebhookFormat, WebhookFormatName } from './webhook-format.ts';

/** The formats by name; `postrider` sends events as they are stored. */
export const FORMATS: Record<WebhookFormatName, WebhookFormat> = {
  postrider: {
    types: EVENT_TYPES,
    keys: 'secret',
    sign: (body, signing) => ({
      headers: { 'content-type': 'application/json', ...standardHeaders(body, signing) },
      body,
    }),
  },
  resend,
  postmark,
  sendgrid,
  mailgun,
  'ses-sns': sesSns,
};

/**
 * The content of a request before it is signed: always the same text for the same event. Undefined
 * if the format has no equivalent of the event.
 */
export async function renderEvent(
  name: WebhookFormatName,
  event: EventBodyInput,
  readMessage: (id: string) => Promise<MessageHeader | undefined>,
): Promise<string | undefined> {
  const { render } = FORMATS[name];
  if (!render) return eventBody(event);
  const data = JSON.parse(event.data) as SourceData;
  const message = data.message_id === undefined ? undefined : await readMessage(data.message_id);
  const type = event.type as EventType;
  const content = render({ ...event, type, data, message });
  return content && JSON.stringify(content);
}

/**
 * The event types that an endpoint receives. With the format of another provider, `*` and families
 * stand for the types that have an equivalent in it, so that nothing is queued that cannot be sent.
 */
export function subscribedTypes(
  name: WebhookFormatName,
  events: readonly string[],
): { events: string[]; unsupported: string[] } {
  if (name === 'postrider') return { events: [...new Set(events)], unsupported: [] };
  const { types } = FORMATS[name];
  const matches = (wanted: string) =>
    types.filter((type) =>
      wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted,
    );
  return {
    events: [...new Set(events.flatMap(matches))],
    unsupported: events.filter((wanted) => matches(wanted).length === 0),
  };
}
