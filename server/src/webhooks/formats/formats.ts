import type { InboundMessageEventData } from '../../events/event-types.ts';
import { EVENT_TYPES, type EventType } from '../../events/event-types.ts';
import { type EventBodyInput, eventBody } from '../../events/events-store.ts';
import { mailgun } from './mailgun.ts';
import { postmark } from './postmark.ts';
import { resend } from './resend.ts';
import { sendgrid } from './sendgrid.ts';
import { sesSns } from './ses-sns.ts';
import { standardHeaders } from './standard-headers.ts';
import type {
  InboundContent,
  SourceData,
  SourceMessage,
  WebhookFormat,
  WebhookFormatName,
} from './webhook-format.ts';

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
  read: EventReaders,
): Promise<string | undefined> {
  const format = FORMATS[name];
  if (!format.render) return eventBody(event);
  if (event.type === INBOUND) return renderInbound(format, event, read);
  const data = JSON.parse(event.data) as SourceData;
  const message =
    data.message_id === undefined ? undefined : await read.message(data.message_id, format);
  const type = event.type as EventType;
  const content = format.render({ ...event, type, data, message });
  return content && JSON.stringify(content);
}

async function renderInbound(
  format: WebhookFormat,
  { data: json, createdAtMs }: EventBodyInput,
  read: EventReaders,
): Promise<string | undefined> {
  if (!format.renderInbound) return undefined;
  const data = JSON.parse(json) as InboundMessageEventData;
  const content = format.needsInboundContent && (await read.inboundContent(data.id));
  return JSON.stringify(format.renderInbound({ data, createdAtMs, content }));
}

const INBOUND: EventType = 'inbound_message.received';

/** Reads what formats show of the subject of an event, and the event does not contain. */
export interface EventReaders {
  message(id: string, format: WebhookFormat): Promise<SourceMessage | undefined>;
  inboundContent(id: string): Promise<InboundContent | undefined>;
}

/** Whether requests contain the content of inbound messages. */
export function sendsInboundContent(name: WebhookFormatName, types: readonly string[]): boolean {
  return FORMATS[name].needsInboundContent === true && types.includes(INBOUND);
}

/**
 * The event types that an endpoint receives. With the format of another provider, `*` and families
 * stand for the types that have an equivalent in it, so that nothing is queued that cannot be sent.
 * The content of inbound messages is only sent to endpoints that select it by name.
 */
export function subscribedTypes(
  name: WebhookFormatName,
  events: readonly string[],
): { events: string[]; unsupported: string[] } {
  if (name === 'postrider') return { events: [...new Set(events)], unsupported: [] };
  const { types } = FORMATS[name];
  const matches = (wanted: string) =>
    types.filter((type) =>
      wanted.endsWith('*')
        ? type.startsWith(wanted.slice(0, -1)) && !sendsInboundContent(name, [type])
        : type === wanted,
    );
  return {
    events: [...new Set(events.flatMap(matches))],
    unsupported: events.filter((wanted) => matches(wanted).length === 0),
  };
}
