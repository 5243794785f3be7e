import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';

/** Request metrics count every response once, including errors. */

test('every response is counted by operation and status, and timed', async () => {
  await using app = await startApp();
  await app.call('POST', '/transactional/send', { body: validMessage() });
  await app.call('POST', '/transactional/send', { body: validMessage() });
  await app.call('POST', '/transactional/send', { body: { to: 'nobody' } });
  await app.call('POST', '/transactional/send', { body: validMessage(), key: 'wrong' });
  await app.call('GET', '/limits');
  const metrics = await fetch(`${app.url}/metrics`).then((answer) => answer.text());
  const counted = (operation: string): Record<string, number> =>
    Object.fromEntries(
      [...metrics.matchAll(/^postrider_http_requests_total\{(.*)\} (\d+)$/gm)]
        .filter(([, labels = '']) => labels.includes(`operation="${operation}"`))
        .map(([, labels = '', count]) => [/status="(\d+)"/.exec(labels)?.[1], Number(count)]),
    );
  expect(counted('sendTransactional')).toEqual({ 202: 2, 401: 1, 422: 1 });
  expect(counted('getLimits')).toEqual({ 200: 1 });
  expect(metrics).toMatch(
    /^postrider_http_request_seconds_count\{.*operation="sendTransactional".*\} 4$/m,
  );
});
