import { expect, test } from 'vitest';
import { MESSAGE_ID, recipientEvent } from '../../../test/harness/source-events.ts';
import { EVENT_TYPES } from '../../events/event-types.ts';
import { FORMATS, renderEvent, subscribedTypes } from './formats.ts';
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
