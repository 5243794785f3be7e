import { expect, test } from 'vitest';
import { LargeResponseLimiter } from './large-response-limiter.ts';

/**
 * Goal: each workspace has a few large responses in progress at a time, in request order, and
 * other workspaces do not wait for them. Method: clients that disconnect on command.
 */

function ask(answers: LargeResponseLimiter, workspaceId: string) {
  const gone = new AbortController();
  const client = { begun: false, leave: () => gone.abort() };
  const begun = answers.acquire(workspaceId, gone.signal).then(() => {
    client.begun = true;
  });
  begun.catch(() => {});
  return { client, begun };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('four run, the others wait, and each disconnect starts the next one', async () => {
  const answers = new LargeResponseLimiter();
  const asked = Array.from({ length: 6 }, () => ask(answers, 'a'));
  const neighbour = ask(answers, 'b');
  const begun = () => asked.map(({ client }) => client.begun);
  await settled();
  expect(begun()).toEqual([true, true, true, true, false, false]);
  expect(neighbour.client.begun).toBe(true);
  asked[2]?.client.leave();
  await settled();
  expect(begun()).toEqual([true, true, true, true, true, false]);
});

test('a client that disconnects while waiting leaves the queue and starts no work', async () => {
  const answers = new LargeResponseLimiter();
  const running = Array.from({ length: 4 }, () => ask(answers, 'a'));
  const [first, second] = [ask(answers, 'a'), ask(answers, 'a')];
  first.client.leave();
  await expect(first.begun).rejects.toMatchObject({ code: 'malformed_request' });
  running[0]?.client.leave();
  await settled();
  expect(second.client.begun).toBe(true);
  for (const { client } of [...running, second]) client.leave();
  const later = Array.from({ length: 4 }, () => ask(answers, 'a'));
  await settled();
  expect(later.map(({ client }) => client.begun)).toEqual([true, true, true, true]);
});

test('a queue that is too long is rejected', () => {
  const answers = new LargeResponseLimiter();
  for (let i = 0; i < 1_004; i++) void ask(answers, 'a');
  expect(() => answers.acquire('a', new AbortController().signal)).toThrow(
    expect.objectContaining({ code: 'quota_exceeded' }),
  );
  expect(() => answers.acquire('b', new AbortController().signal)).not.toThrow();
});
