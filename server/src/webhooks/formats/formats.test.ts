import { expect, test } from 'vitest';
import {
  EVENT_UUID,
  inboundEvent,
  MESSAGE_ID,
  recipientEvent,
} from '../../../test/harness/webhooks/source-events.ts';
import { EVENT_TYPES } from '../../events/event-types.ts';
import { FORMATS, renderEvent, sendsInboundContent, subscribedTypes } from './formats.ts';
import { WEBHOOK_FORMATS } from './webhook-format.ts';

test('families and * mean the types that have an equivalent', () => {
  expect(subscribedTypes('postrider', ['*', '*'])).toEqual({ events: ['*'], unsupported: [] });
  expect(subscribedTypes('sendgrid', ['*']).events).toEqual(FORMATS.sendgrid.types);
  expect(subscribedTypes('sendgrid', ['suppression.*', 'message.opened'])).toEqual({
    events: ['suppression.created', 'message.opened'],
    unsupported: [],
  });
  expect(subscribedTypes('mailgun', ['message.*', 'domain.*', 'message.cancelled'])).toEqual({
    events: FORMATS.mailgun.types.filter((type) => type.startsWith('message.')),
    unsupported: ['domain.*', 'message.cancelled'],
  });
});

test.each(WEBHOOK_FORMATS)('%s renders the same bytes every time', async (name) => {
  const read: string[] = [];
  const { data, ...event } = recipientEvent('message.delivered');
  const render = () =>
    renderEvent(
      name,
      { ...event, sequence: 2, data: JSON.stringify(data) },
      {
        message: async (id) => {
          read.push(id);
          return event.message;
        },
        inboundContent: async () => undefined,
      },
    );
  const content = await render();
  expect(content).toContain(MESSAGE_ID);
  expect(await render()).toBe(content);
  // Our own format needs no lookup.
  expect(read).toHaveLength(name === 'postrider' ? 0 : 2);
});

test.each(WEBHOOK_FORMATS)('%s names only event types that exist', (name) => {
  expect(FORMATS[name].types.filter((type) => !EVENT_TYPES.includes(type))).toEqual([]);
  expect(new Set(FORMATS[name].types).size).toBe(FORMATS[name].types.length);
});

test('the content of inbound messages is sent only where the event is named', async () => {
  const inbound = 'inbound_message.received';
  expect(subscribedTypes('postmark', ['*', 'inbound_message.*']).events).not.toContain(inbound);
  expect(subscribedTypes('postmark', ['*', inbound]).events).toContain(inbound);
  expect(subscribedTypes('resend', ['inbound_message.*']).events).toEqual([inbound]);
  expect(sendsInboundContent('postmark', ['message.bounced', inbound])).toBe(true);
  expect(sendsInboundContent('postmark', ['message.bounced'])).toBe(false);
  expect(sendsInboundContent('resend', [inbound])).toBe(false);
});

test('only a format that shows the content of an inbound message reads it', async () => {
  const { data, createdAtMs } = inboundEvent();
  const event = {
    id: EVENT_UUID,
    type: 'inbound_message.received',
    mode: 'live' as const,
    createdAtMs,
    sequence: null,
    data: JSON.stringify(data),
  };
  const read: string[] = [];
  const readers = {
    message: async () => undefined,
    inboundContent: async (id: string) => {
      read.push(id);
      return undefined;
    },
  };
  for (const name of ['postrider', 'resend'] as const) {
    expect(await renderEvent(name, event, readers)).toContain(data.id);
  }
  expect(read).toEqual([]);
  expect(await renderEvent('postmark', event, readers)).toContain(data.id);
  expect(read).toEqual([data.id]);
  expect(await renderEvent('sendgrid', event, readers)).toBeUndefined();
});
