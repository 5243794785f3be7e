import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHmacSha256 } from '../../../src/lib/crypto/hmac.ts';
import {
  formatSecret,
  newSecret,
  signedHeaders,
} from '../../../src/webhooks/requests/sign-webhook.ts';

/**
 * The code in docs/webhooks.md verifies our requests and rejects others. The snippets are extracted from the page and
 * run in Node, and in Python if it is installed.
 */

const page = readFileSync(path.join(import.meta.dirname, '../../../../docs/webhooks.md'), 'utf8');

function snippet(name: string): string {
  const found = new RegExp(`<!-- snippet: ${name} -->\n\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(page);
  return found?.[1] ?? '';
}

const secret = newSecret();
const body = '{"type":"message.delivered","text":"Grüße ✓"}';
const headers = signedHeaders('evt_1', Date.now(), Buffer.from(body), [
  createHmacSha256(newSecret()),
  createHmacSha256(secret),
]);
const cases = [
  { name: 'good', secret: formatSecret(secret), headers, body, good: true },
  { name: 'another secret', secret: formatSecret(newSecret()), headers, body, good: false },
  { name: 'another body', secret: formatSecret(secret), headers, body: `${body} `, good: false },
  {
    name: 'another id',
    secret: formatSecret(secret),
    headers: { ...headers, 'webhook-id': 'evt_2' },
    body,
    good: false,
  },
  {
    name: 'an old request',
    secret: formatSecret(secret),
    headers: signedHeaders('evt_1', Date.now() - 600_000, Buffer.from(body), [
      createHmacSha256(secret),
    ]),
    body,
    good: false,
  },
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-snippets-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the Node snippet', () => {
  test.each(cases)('$name', async (one) => {
    const file = path.join(folder, 'verify.mjs');
    await writeFile(file, snippet('node'));
    const { verifyWebhook } = await import(file);
    const verify = (): unknown => verifyWebhook(one.secret, one.headers, one.body);
    if (one.good) expect(verify()).toMatchObject({ type: 'message.delivered' });
    else expect(verify).toThrow();
  });
});

const hasPython = ((): boolean => {
  try {
    execFileSync('python3', ['-c', 'pass']);
    return true;
  } catch {
    return false;
  }
})();

test('the Python snippet, if Python is installed', async () => {
  expect(snippet('python')).toContain('def verify_webhook');
  if (!hasPython) return;
  const file = path.join(folder, 'run.py');
  await writeFile(
    file,
    `${snippet('python')}
import sys
results = []
for one in json.loads(sys.argv[1]):
    try:
        results.append(verify_webhook(one["secret"], one["headers"], one["body"].encode())["type"])
    except ValueError:
        results.append(None)
print(json.dumps(results))
`,
  );
  const output = execFileSync('python3', [file, JSON.stringify(cases)]).toString();
  expect(JSON.parse(output)).toEqual(cases.map(({ good }) => (good ? 'message.delivered' : null)));
});
