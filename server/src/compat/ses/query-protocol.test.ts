import { expect, test } from 'vitest';
import { readQueryForm, writeError, writeResult } from './query-protocol.ts';

test('names with dots are objects, and members are lists', () => {
  const form = {
    Action: 'SendEmail',
    'Destination.ToAddresses.member.2': 'joe@example.com',
    'Destination.ToAddresses.member.1': 'jane@example.com',
    'Destination.CcAddresses': '',
    'Tags.member.1.Name': 'constructor',
    'Tags.member.1.Value': '',
  };
  expect(readQueryForm(form)).toEqual({
    Action: 'SendEmail',
    Destination: { ToAddresses: ['jane@example.com', 'joe@example.com'] },
    Tags: [{ Name: 'constructor', Value: '' }],
  });
});

test.each([
  ['a gap', { 'Tags.member.1': 'a', 'Tags.member.3': 'b' }],
  ['a list that does not begin with 1', { 'Tags.member.0': 'a' }],
  ['a member that is not a number', { 'Tags.member.x': 'a' }],
  ['a repeated parameter', { Source: ['a', 'b'] }],
  ['a file', { Source: { filename: 'a', content_type: 'text/plain', content: '' } }],
  ['a value and an object of the same name', { Source: 'a', 'Source.Name': 'b' }],
  ['an object and a value of the same name', { 'Source.Name': 'b', Source: 'a' }],
  ['a name that would change the prototype', { '__proto__.a': 'b' }],
  ['a name that is too deep', { [Array(20).fill('a').join('.')]: 'b' }],
])('%s is refused', (_what, form) => {
  expect(() => readQueryForm(form)).toThrow(/numbered|must have a name/);
});

test('results and errors are escaped', () => {
  const result = { List: ['<a>', { B: 'x & y' }], Map: new Map([['k', 1]]), None: undefined };
  expect(writeResult('Get', result, 'req_1')).toBe(
    '<GetResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><GetResult>' +
      '<List><member>&lt;a&gt;</member><member><B>x &amp; y</B></member></List>' +
      '<Map><entry><key>k</key><value>1</value></entry></Map></GetResult>' +
      '<ResponseMetadata><RequestId>req_1</RequestId></ResponseMetadata></GetResponse>',
  );
  const error = { code: 'A', message: '</Message>\u0001', isOurs: false };
  expect(writeError(error, 'req_1')).toContain('<Message>&lt;/Message&gt;\uFFFD</Message>');
});
