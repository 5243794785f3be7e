import { expect, test } from 'vitest';
import { matchesTypes } from './event-streams.ts';
import {
  eventBody,
  isAfter,
  positionAfterTransaction,
  publicEvent,
  type StoredEvent,
} from './events-store.ts';

const EVENT: StoredEvent = {
  id: '0190a3e0-0000-7000-8000-000000000001',
  tx: 7,
  type: 'message.delivered',
  mode: 'live',
  createdAtMs: Date.parse('2027-01-01T00:00:00Z'),
  messageId: null,
  sequence: 2,
  data: { message_id: 'msg_1', tags: ['a "b"'] },
};

test('the serialized body equals the public form, byte for byte', () => {
  const body = eventBody({ ...EVENT, data: JSON.stringify(EVENT.data) });
  expect(body).toBe(JSON.stringify(publicEvent(EVENT)));
  const unnumbered = { ...EVENT, sequence: null };
  expect(eventBody({ ...unnumbered, data: '{}' })).toBe(
    JSON.stringify(publicEvent({ ...unnumbered, data: {} })),
  );
});

test('positions are ordered by transaction, then by id', () => {
  const position = { tx: 7, id: EVENT.id };
  expect(isAfter({ tx: 8, id: '0' }, position)).toBe(true);
  expect(isAfter({ tx: 7, id: EVENT.id.replace(/1$/, '2') }, position)).toBe(true);
  expect(isAfter(position, position)).toBe(false);
  expect(isAfter({ tx: 6, id: 'f' }, position)).toBe(false);
  expect(isAfter(positionAfterTransaction(7), position)).toBe(true);
});

test('a filter matches exact types and whole groups', () => {
  expect(matchesTypes(EVENT, {})).toBe(true);
  expect(matchesTypes(EVENT, { types: ['message.delivered'] })).toBe(true);
  expect(matchesTypes(EVENT, { types: ['message.*'] })).toBe(true);
  expect(matchesTypes(EVENT, { types: ['message.bounced', 'domain.*'] })).toBe(false);
});
