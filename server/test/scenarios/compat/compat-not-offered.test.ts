import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';

/** Operations of other providers that have no equivalent say why, and what to do instead. */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

test.each([
  ['resend', 'GET', '/broadcasts', 404, /^Broadcasts are not offered/],
  ['resend', 'POST', '/segments/seg_1/contacts', 404, /leave out the id/],
  ['resend', 'GET', '/contacts/jane@example.com/segments?limit=1', 404, /leave out the id/],
  ['resend', 'POST', '/webhooks', 404, /`format` `resend`/],
  ['resend', 'POST', '/domains/claim', 405, /^This path accepts .*DNS records/],
  ['resend', 'GET', '/sandwiches', 404, /does not offer this operation of the Resend API/],
  ['postmark', 'GET', '/webhooks', 404, /`format` `postmark`/],
  ['postmark', 'POST', '/email/bulk', 404, /batchWithTemplates/],
  ['postmark', 'POST', '/data-removals', 404, /erase=true/],
  ['postmark', 'PUT', '/server', 405, /^This path accepts GET, HEAD\. .*streams/],
  ['postmark', 'GET', '/servers/1', 404, /account API/],
  ['sendgrid', 'GET', '/v3/asm/groups', 404, /groups are streams/],
  ['sendgrid', 'GET', '/v3/user/webhooks/event/settings', 404, /`format` `sendgrid`/],
  ['mailgun', 'GET', '/v3/routes', 404, /not routed by rules/],
  ['mailgun', 'GET', '/v3/domains/acme.example/webhooks', 404, /`format` `mailgun`/],
  ['mailgun', 'DELETE', '/v3/acme.example/bounces', 405, /one by one/],
  ['mailgun', 'GET', '/v3/acme.example/whitelists', 404, /no allowlist/],
  ['ses', 'POST', '/v2/email/configuration-sets', 404, /becomes a tag/],
  ['ses', 'POST', '/v2/email/identities', 404, /`\/api\/v1\/domains`/],
] as const)('%s %s %s: %i', async (provider, method, path, status, reason) => {
  const response = await fetch(`${app.url}/compat/${provider}${path}`, { method });
  expect(response.status).toBe(status);
  const body = (await response.json()) as Record<string, unknown>;
  const [error = body] = (body.errors as Record<string, unknown>[]) ?? [];
  const message = error.message ?? error.Message;
  expect(message).toMatch(reason);
  expect(message).toContain('/docs/moving ');
});

test.each([
  ['/emails/metrics', /`GET \/api\/v1\/stats`/],
  ['/contacts/imports', /`POST \/api\/v1\/contacts\/import`/],
])('%s is not the id of something', async (path, reason) => {
  const headers = { authorization: `Bearer ${app.testKey}` };
  const response = await fetch(`${app.url}/compat/resend${path}?limit=1`, { headers });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ message: expect.stringMatching(reason) });
});

test('the reason is given on paths without /compat too', async () => {
  const response = await fetch(`${app.url}/v3/routes`);
  expect(await response.json()).toMatchObject({
    message: expect.stringMatching(/^Inbound mail is not routed by rules/),
  });
});

test('the account token of Postmark is not the key of a server', async () => {
  const response = await fetch(`${app.url}/compat/postmark/templates/push`, {
    method: 'PUT',
    headers: { 'x-postmark-account-token': app.liveKey, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({
    ErrorCode: 10,
    Message: expect.stringMatching(/^The account API of Postmark is not offered/),
  });
});
