import { expect, test } from 'vitest';
import { AllowedMethods } from './allowed-methods.ts';
import type { ApiSurface } from './api-surface.ts';

const surface = (prefix: string, ...operations: [method: string, path: string][]): ApiSurface =>
  ({
    prefix,
    operations: operations.map(([method, path]) => ({
      spec: { method, path, consumesOnRead: path.endsWith('/wait') },
    })),
  }) as unknown as ApiSurface;

const methods = new AllowedMethods([
  surface(
    '/api/v1',
    ['GET', '/messages'],
    ['GET', '/messages/{id}'],
    ['PATCH', '/messages/{id}'],
    ['GET', '/messages/export'],
    ['GET', '/inbox/wait'],
  ),
  surface('/resend', ['POST', '/emails/{id}/cancel']),
]);

test.each([
  ['/api/v1/messages', ['GET', 'HEAD']],
  ['/api/v1/messages?limit=2#top', ['GET', 'HEAD']],
  ['/api/v1/messages/msg_1', ['GET', 'HEAD', 'PATCH']],
  ['/api/v1/messages/a%2Fb', ['GET', 'HEAD', 'PATCH']],
  ['/api/v1/%6Dessages', ['GET', 'HEAD']],
  ['/api/v1/messages/export', ['GET', 'HEAD']],
  ['/api/v1/inbox/wait', ['GET']],
  ['/resend/emails/1/cancel', ['POST']],
])('%s accepts %j', (url, allowed) => {
  expect(methods.of(url)).toEqual(allowed);
});

test.each(['/', '/api/v1', '/api/v1/messages/', '/api/v1/messages/1/2', '/emails/1/cancel'])(
  '%s is not a path of an operation',
  (url) => {
    expect(methods.of(url)).toBeUndefined();
  },
);

test('a wrong method of a path is not passed to a path with a parameter', () => {
  expect(methods.shadowed()).toEqual([
    { route: '/api/v1/messages/export', methods: ['PATCH'], allowed: ['GET', 'HEAD'] },
  ]);
});
