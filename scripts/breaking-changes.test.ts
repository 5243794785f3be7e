import { expect, it } from 'vitest';
import { breakingChanges, type OpenApi } from './breaking-changes.ts';
import { defaultDocument } from './openapi.ts';

/**
 * Goal: a change that breaks a client is told, one that only adds is not. Method: the real document
 * held against itself with one change.
 */

// biome-ignore lint/suspicious/noExplicitAny: any place of the document may change.
type Loose = Record<string, any>;

function after(change: (document: Loose) => void): string[] {
  const document = structuredClone(defaultDocument()) as Loose;
  change(document);
  return breakingChanges(defaultDocument() as OpenApi, document as unknown as OpenApi);
}

const send = (document: Loose): Loose => document.paths['/api/v1/transactional/send'].post;
const list = (document: Loose): Loose => document.paths['/api/v1/messages'].get;
const schema = (document: Loose, name: string): Loose => document.components.schemas[name];

it('finds nothing in the same document', () => {
  expect(after(() => {})).toEqual([]);
});

it.each<[string, (document: Loose) => void]>([
  ['a new path', (d) => (d.paths['/api/v1/new'] = { get: { operationId: 'new', responses: {} } })],
  [
    'a new optional field',
    (d) => (schema(d, 'SendMessage').properties.priority = { type: 'string' }),
  ],
  ['a new field of an answer', (d) => (schema(d, 'Message').properties.more = { type: 'string' })],
  ['a new value of an answer', (d) => schema(d, 'Event').properties.type.enum.push('message.read')],
  ['a new value that is taken', (d) => schema(d, 'CreateApiKey').properties.mode.enum.push('both')],
  ['a wider bound', (d) => (schema(d, 'SendMessage').properties.subject.maxLength = 9000)],
  ['any text where a format was', (d) => delete schema(d, 'Address').properties.email.format],
  ['a new query parameter', (d) => list(d).parameters.push({ name: 'x', in: 'query', schema: {} })],
  ['a field that is no longer required', (d) => (schema(d, 'SendMessage').required = [])],
])('lets pass: %s', (_name, change) => {
  expect(after(change)).toEqual([]);
});

it.each<[(document: Loose) => void, string]>([
  [(d) => delete d.paths['/api/v1/messages'].get, 'GET /api/v1/messages is gone'],
  [(d) => delete d.webhooks['message.bounced'], 'the event POST message.bounced is gone'],
  [(d) => (send(d).operationId = 'x'), 'its operationId was sendTransactional and is x'],
  [(d) => (send(d)['x-scope'] = 'x'), 'its scope was send:transactional and is x'],
  [(d) => delete send(d).responses[202], 'the answer 202 is gone'],
  [(d) => delete send(d).responses[202].headers.Location, 'the header Location of 202 is gone'],
  [(d) => list(d).parameters.shift(), 'the parameter limit is gone'],
  [(d) => (list(d).parameters[1].required = true), 'the parameter cursor is required now'],
  [(d) => (list(d).parameters[0].schema.maximum = 50), 'limit: maximum was 100 and is 50'],
  [(d) => delete schema(d, 'SendMessage').properties.tags, 'tags is gone'],
  [(d) => schema(d, 'SendMessage').required.push('from'), 'from is required now'],
  [
    (d) => (schema(d, 'SendMessage').properties.html = { type: 'object' }),
    'html was string and is object',
  ],
  [(d) => schema(d, 'CreateApiKey').properties.mode.enum.pop(), 'mode no longer takes test'],
  [
    (d) => (schema(d, 'Address').properties.email.maxLength = 9),
    'to.email: maxLength was 320 and is 9',
  ],
  [(d) => delete schema(d, 'Message').properties.subject, '200: subject is gone'],
  [(d) => schema(d, 'Message').required.pop(), '200: events may be absent now'],
  [
    (d) =>
      (schema(d, 'Message').properties.subject = { anyOf: [{ type: 'string' }, { type: 'null' }] }),
    '200: subject was string and is null',
  ],
  [
    (d) =>
      (schema(d, 'SendMessage').properties.reply_to = { $ref: '#/components/schemas/Address' }),
    'reply_to was array and is object',
  ],
])('%s', (change, told) => {
  const found = after(change);
  expect(found.some((line) => line.endsWith(told))).toBe(true);
});
