import { expect, test } from 'vitest';
import {
  hashToken,
  newAccessKeyId,
  newOperatorToken,
  newToken,
} from '../accounts/api-key-token.ts';
import { uuidv7 } from '../lib/ids.ts';
import { TrackingLinks } from '../tracking/tracking-links.ts';
import { subjectOf } from './routing-subject.ts';

const key = newToken('live');
const named = { kind: 'key', value: hashToken(key).toString('hex') };
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  [{ authorization: `Bearer ${key}` }],
  [{ authorization: `bearer  ${key} ` }],
  [{ authorization: basic(`api:${key}`) }],
  [{ 'x-postmark-server-token': key }],
])('a key is found in %j', (headers) => {
  expect(subjectOf(headers, '/api/v1/events')).toEqual(named);
});

test('operator keys and signed requests', () => {
  const operator = newOperatorToken();
  expect(subjectOf({ authorization: `Bearer ${operator}` }, '/')).toEqual({
    kind: 'key',
    value: hashToken(operator).toString('hex'),
  });
  const id = newAccessKeyId('test');
  const authorization = `AWS4-HMAC-SHA256 Credential=${id}/20261118/eu-west-1/ses/aws4_request, SignedHeaders=host, Signature=00`;
  expect(subjectOf({ authorization }, '/')).toEqual({ kind: 'credential', value: id });
});

test.each([
  [{}],
  [{ authorization: 'Bearer ' }],
  [{ authorization: `Bearer ${key.slice(0, -1)}` }],
  [{ authorization: `Bearer ${key} ${key}` }],
  [{ authorization: basic(key.slice(1)) }],
  [{ authorization: 'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/x' }],
  [{ authorization: 'Negotiate abc' }],
  [{ cookie: 'postrider_session=x' }],
])('%j names nothing', (headers) => {
  expect(subjectOf(headers, '/api/v1/events')).toBeUndefined();
});

test('a header of blanks is read in linear time', () => {
  // With a quadratic algorithm, this test would time out.
  const authorization = `Bearer a${' '.repeat(1_000_000)}b`;
  expect(subjectOf({ authorization }, '/')).toBeUndefined();
});

test('links name their workspace', () => {
  const links = new TrackingLinks(Buffer.alloc(32, 1));
  const workspaceId = uuidv7(Date.now());
  const message = { workspaceId, mode: 'live', messageId: uuidv7(Date.now()) } as const;
  const expected = { kind: 'workspace', value: workspaceId };
  expect(subjectOf({}, links.openPath(message))).toEqual(expected);
  expect(subjectOf({}, `${links.clickPath(message, 'https://a.example/')}?x=1`)).toEqual(expected);
  expect(subjectOf({}, '/t/o/AAAA.gif')).toBeUndefined();
  expect(subjectOf({}, '/u/token?lang=de')).toEqual({ kind: 'link', value: '/u/token' });
  const certificate = '/sns/SimpleNotificationService-00.pem';
  expect(subjectOf({}, certificate)).toEqual({ kind: 'link', value: certificate });
});

test('a key decides where a link does too', () => {
  expect(subjectOf({ authorization: `Bearer ${key}` }, '/u/token')).toEqual(named);
});
