import { compareCosts } from './compare-costs.ts';
import { postRequest } from './http-load.ts';
import { startNameServer } from './name-server.ts';
import type { Report } from './results.ts';
import { SENDER_DOMAIN, sampleSend } from './sample-message.ts';
import { settled, startSink } from './start-smtp-sink.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * Two questions about receiving domains, kept apart. Does a message cost more when the server knows
 * many domains? Few and many domains are compared when each has received mail before, with the same
 * reuse of connections: the domains share mail servers, as most domains do. And what does the first
 * message to a domain cost: its DNS queries, and, if the domain has a mail server of its own, a
 * connection for a single message?
 *
 * All rows have the same rate, because the cost of a message depends on how many share a commit.
 */

const DOMAINS = Number(process.env.BENCH_DOMAINS ?? 100_000);
const FEW_DOMAINS = 100;
const RATE = Number(process.env.BENCH_RATE ?? 400);
const BULK = 100;

export async function benchDomains(report: Report): Promise<void> {
  await using names = await startNameServer();
  // The mail servers have loopback addresses of their own.
  await using sink = await startSink('0.0.0.0');
  await using target = await startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DNS_SERVERS: `127.0.0.1:${names.port}`,
      MX_PORT: String(sink.port),
      OUTGOING_ADDRESSES: 'ipv4',
    },
  });
  const body = JSON.stringify(sampleSend('jane@receiver.example'));
  const send = (domain: string): string =>
    postRequest(
      '/api/v1/transactional/send',
      target.key,
      body.replace('receiver.example', `${domain}.example`),
    );
  await introduce(target, DOMAINS);
  await settled(sink);
  let few = 0;
  let known = 0;
  let fresh = 0;
  let own = 0;
  const load = (domain: () => string) => ({ target, request: () => send(domain()) });
  const loads = {
    [`${FEW_DOMAINS} domains`]: load(() => `shared${few++ % FEW_DOMAINS}`),
    [`${DOMAINS} domains`]: load(() => `shared${known++ % DOMAINS}`),
    'new domains': load(() => `shared${DOMAINS + fresh++}`),
    'new domains with own servers': load(() => `own${own++}`),
  };
  await compareCosts(report, sink, loads, RATE);
}

/** Sends one message to each of the domains, in bulk. */
async function introduce(target: Target, domains: number): Promise<void> {
  for (let first = 0; first < domains; first += BULK) {
    const recipients = Array.from({ length: Math.min(BULK, domains - first) }, (_, n) => ({
      to: { email: `jane@shared${first + n}.example` },
    }));
    const response = await fetch(`http://127.0.0.1:${target.port}/api/v1/transactional/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        from: { email: `shop@${SENDER_DOMAIN}` },
        subject: 'Hello',
        text: 'Hello.',
        recipients,
      }),
    });
    if (!response.ok) throw new Error(`A bulk send failed: ${await response.text()}`);
  }
}
