import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ScriptedDnsServer, startDnsServer } from '../harness/smtp/dns-server.ts';
import { KEYWORDS, type SmtpReceiver, startSmtpReceiver } from '../harness/smtp/smtp-receiver.ts';
import { RECEIVER_DOMAINS } from './load-clients.ts';
import type { AppendOnlyLog } from './log-files.ts';

/**
 * The mail server of all recipients, with its DNS. It logs what it accepts before it replies to the
 * final dot, so that a copy whose reply never reached the sender counts. It rejects recipients that
 * begin with `no-`, and defers those that begin with `later-` once.
 */
export interface LoggingReceiver extends AsyncDisposable {
  /** Settings with which the server delivers to it. */
  readonly env: Record<string, string>;
}

const MX = 'mx.example.test';
/** Delays the reply to the final dot, because a failure before it is the critical one. */
const REPLY_DELAY_MAX_MS = 20;

export async function startLoggingReceiver(
  log: AppendOnlyLog<'receiver'>,
  random: () => number,
): Promise<LoggingReceiver> {
  const mx = { MX: [`10 ${MX}`], ttlSeconds: 60 };
  const dns: ScriptedDnsServer = await startDnsServer({
    ...Object.fromEntries(RECEIVER_DOMAINS.map((domain) => [domain, mx])),
    [MX]: { A: ['127.0.0.1'], ttlSeconds: 60 },
  });
  const deferred = new Set<string>();
  const receiver: SmtpReceiver = await startSmtpReceiver({
    // Like most receivers: several messages may be in flight on a connection.
    keywords: [...KEYWORDS, 'CHUNKING'],
    onRcpt(to) {
      const reply = replyTo(to, deferred);
      if (reply) log.append({ at: Date.now(), event: 'rejection', to, reply });
      return reply;
    },
    async onMessage({ raw, recipients }) {
      const [, messageId = ''] = /^Message-ID: (\S+)/im.exec(raw.toString('latin1')) ?? [];
      const sha256 = createHash('sha256').update(raw).digest('hex');
      for (const to of recipients) {
        log.append({ at: Date.now(), event: 'arrival', to, messageId, sha256 });
      }
      // The receiver keeps them for tests; here the log is enough.
      receiver.messages.length = 0;
      await sleep(random() * REPLY_DELAY_MAX_MS);
      return undefined;
    },
  });
  return {
    env: {
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.sender.test',
    },
    async [Symbol.asyncDispose]() {
      await receiver.close();
      await dns[Symbol.asyncDispose]();
    },
  };
}

function replyTo(to: string, deferred: Set<string>): string | undefined {
  if (to.startsWith('no-')) return '550 5.1.1 No such user';
  if (!to.startsWith('later-') || deferred.has(to)) return undefined;
  deferred.add(to);
  return '451 4.7.1 Try again later';
}
