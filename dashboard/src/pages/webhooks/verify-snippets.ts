import type { Snippet } from '../../components/code-block.tsx';

/** Verifies webhook signatures (Standard Webhooks), by hand or with a library. */
export function verifySnippets(): Snippet[] {
  return [
    { name: 'Node', language: 'javascript', code: NODE },
    { name: 'Python', language: 'python', code: PYTHON },
    { name: 'Library', language: 'javascript', code: LIBRARY },
  ];
}

const NODE = `import { createHmac, timingSafeEqual } from 'node:crypto';

export function verifyWebhook(secret, headers, rawBody) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) throw new Error('timestamp too old');
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signed = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(rawBody);
  const expected = signed.digest();
  const good = (headers['webhook-signature'] ?? '').split(' ').some((one) => {
    const [version, value = ''] = one.split(',');
    const given = Buffer.from(value, 'base64');
    const sameLength = given.length === expected.length;
    return version === 'v1' && sameLength && timingSafeEqual(given, expected);
  });
  if (!good) throw new Error('invalid signature');
  return JSON.parse(rawBody);
}`;

const PYTHON = `import base64, hashlib, hmac, json, time

def verify_webhook(secret, headers, raw_body):
    id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        raise ValueError("timestamp too old")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{id}.{timestamp}.".encode() + raw_body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [s[3:] for s in headers["webhook-signature"].split(" ") if s.startswith("v1,")]
    if not any(hmac.compare_digest(expected, one) for one in given):
        raise ValueError("invalid signature")
    return json.loads(raw_body)`;

const LIBRARY = `// npm install standardwebhooks: also for Python, Go, Ruby, PHP, Java, C#, Rust and Elixir.
import { Webhook } from 'standardwebhooks';

const event = new Webhook(process.env.POSTRIDER_WEBHOOK_SECRET).verify(rawBody, headers);`;
