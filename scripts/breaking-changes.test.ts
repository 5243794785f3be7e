import { expect, it } from 'vitest';
import { breakingChanges, type OpenApi } from './breaking-changes.ts';
import { defaultDocument } from './openapi.ts';

/** Each case compares the real document with a copy that has one change. */

// biome-ignore lint/suspicious/noExplicitAny: a test may change any part of the document.
type Loose = Record<string, any>;

function after(change: (document: Loose) => void): string[] {
  const document = structuredClone(defaultDocument()) as Loose;
  change(document);
  return breakingChanges(defaultDocument() as OpenApi, document as unknown as OpenApi);
}

const send = (document: Loose): Loose => document.paths['/api/v1/transactional/send'].post;
const list = (document: Loose): Loose => document.paths['/api/v1/messages'].get;
const schema = (document: Loose, name: string): Loose => document.components.schemas[name];

it('reports nothing for identical documents', () => {
  expect(after(() => {})).toEqual([]);
});

it.each<[string, (document: Loose) => void]>([
  ['a new path', (d) => (d.paths['/api/v1/new'] = { get: { operationId: 'new', responses: {} } })],
  [
    'a new optional field',
    (d) => (schema(d, 'SendMessage').properties.priority = { type: 'string' }),
  ],
  ['a new field in a response', (d) => (schema(d, 'Message').properties.more = { type: 'string' })],
  [
    'a new enum value in a response',
    (d) => schema(d, 'Bounce').properties.reason.enum.push('out_of_office'),
  ],
  ['a new event type', (d) => schema(d, 'Event').oneOf.push({ $ref: '#/components/schemas/New' })],
  ['the size of an integer', (d) => (list(d).parameters[0].schema.format = 'int64')],
  ['a new accepted enum value', (d) => schema(d, 'CreateApiKey').properties.mode.enum.push('both')],
  ['a wider limit', (d) => (schema(d, 'SendMessage').properties.subject.maxLength = 9000)],
  ['a removed format', (d) => delete schema(d, 'Address').properties.email.format],
  ['a new query parameter', (d) => list(d).parameters.push({ name: 'x', in: 'query', schema: {} })],
  ['a field that is no longer required', (d) => (schema(d, 'Address').required = [])],
])('accepts %s', (_name, change) => {
  expect(after(change)).toEqual([]);
});

it.each<[(document: Loose) => void, string]>([
  [(d) => delete d.paths['/api/v1/messages'].get, 'GET /api/v1/messages was removed'],
  [(d) => delete d.webhooks['message.bounced'], 'the event POST message.bounced was removed'],
  [(d) => (send(d).operationId = 'x'), 'operationId changed from sendTransactional to x'],
  [(d) => (send(d)['x-scope'] = 'x'), 'scope changed from send:transactional to x'],
  [(d) => delete send(d).responses[202], 'the response 202 was removed'],
  [(d) => delete send(d).responses[202].headers.Location, 'the header Location of 202 was removed'],
  [(d) => list(d).parameters.shift(), 'the parameter limit was removed'],
  [(d) => (list(d).parameters[1].required = true), 'the parameter cursor is now required'],
  [(d) => (list(d).parameters[0].schema.maximum = 50), 'limit: maximum changed from 100 to 50'],
  [(d) => delete schema(d, 'SendMessage').properties.tags, 'tags was removed'],
  [(d) => (schema(d, 'SendMessage').required = ['from']), 'from is now required'],
  [
    (d) => (schema(d, 'SendMessage').properties.html = { type: 'object' }),
    'html changed from string to object',
  ],
  [(d) => schema(d, 'CreateApiKey').properties.mode.enum.pop(), 'mode no longer accepts test'],
  [
    (d) => (schema(d, 'Address').properties.email.maxLength = 9),
    'to.email: maxLength changed from 320 to 9',
  ],
  [
    (d) => delete schema(d, 'MessageBouncedData').properties.bounce,
    '200: data[].data.bounce was removed',
  ],
  [
    (d) => schema(d, 'Event').oneOf.shift(),
    '200: data[]: the alternative MessageAcceptedEvent was removed',
  ],
  [(d) => delete schema(d, 'Message').properties.subject, '200: subject was removed'],
  [(d) => schema(d, 'Message').required.pop(), '200: events is now optional'],
  [
    (d) =>
      (schema(d, 'Message').properties.subject = { anyOf: [{ type: 'string' }, { type: 'null' }] }),
    '200: subject changed from string to null',
  ],
  [
    (d) =>
      (schema(d, 'SendMessage').properties.reply_to = { $ref: '#/components/schemas/Address' }),
    'reply_to changed from array to object',
  ],
])('%s', (change, expected) => {
  const found = after(change);
  expect(found.some((line) => line.endsWith(expected))).toBe(true);
});
