import type { AttemptReport, Transport } from '../../../src/delivery/delivery.ts';
import type { MessageContent } from '../../../src/messages/content/message-content.ts';
import { ConcurrencyLimit } from '../../../src/queue/concurrency-limit.ts';

/** A live route that stores messages instead of sending them. */
export interface MailboxRoute extends Transport {
  readonly arrived: { to: string; content: MessageContent }[];
  /** Resolves with the next unread message to this address. */
  next(to: string): Promise<MessageContent>;
}

export function mailboxRoute(): MailboxRoute {
  const limit = new ConcurrencyLimit(100);
  const arrived: MailboxRoute['arrived'] = [];
  const read = new Set<MessageContent>();
  let wake: (() => void)[] = [];
  return {
    needsContent: true,
    arrived,
    limitFor: () => limit,
    async attempt(message, deliveries) {
      for (const { recipient } of deliveries) {
        arrived.push({ to: recipient, content: message.content as MessageContent });
      }
      for (const one of wake.splice(0)) one();
      return deliveries.map(() => REPORT);
    },
    async next(to) {
      for (;;) {
        const found = arrived.find((one) => one.to === to && !read.has(one.content));
        if (found) {
          read.add(found.content);
          return found.content;
        }
        await new Promise<void>((resolve) => wake.push(resolve));
      }
    },
    abort: () => {},
    close: async () => {
      wake = [];
    },
  };
}

const REPLY = { code: 250, enhanced: '2.0.0', text: 'OK' };

const REPORT: AttemptReport = {
  end: { kind: 'accepted', reply: REPLY },
  startedAtMs: 0,
  finishedAtMs: 0,
  smtp: { ...REPLY, mx: 'mx.example.com', ip: null, tls: null },
  transcript: null,
};
