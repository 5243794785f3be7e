import { describe, expect, test } from 'vitest';
import { startCuttingProxy } from '../../../test/harness/smtp/cutting-proxy.ts';
import {
  HANG_UP,
  type ReceiverSession,
  type SmtpReceiver,
  startSmtpReceiver,
} from '../../../test/harness/smtp/smtp-receiver.ts';
import { connectionTo, smtpMessage } from '../../../test/harness/smtp/smtp-sender.ts';
import type { SmtpRecipientResult } from './smtp-results.ts';

/**
 * Goal: wherever a connection is lost, no message is lost or sent twice: what is reported as accepted was
 * accepted, and what may be sent again at once was not. Method: a proxy that cuts the connection at every
 * byte of a session with four messages, in each direction, and a receiver that knows what it has accepted.
 */

const BASE = ['SIZE 26214400', '8BITMIME'];
const ACCEPTED = ['a@x.test', 'c@x.test', 'd@x.test'];

/** Without dots at the start of lines, which are never sent in chunks. */
const messages = [['a@x.test'], ['no@x.test'], ['c@x.test', 'no@x.test'], ['d@x.test']].map(
  (recipients) => smtpMessage({ recipients, data: Buffer.from('A: b\r\n\r\nc\r\n') }),
);

describe.each([
  ['in chunks', [...BASE, 'PIPELINING', 'CHUNKING'], 'BDAT'],
  ['with PIPELINING', [...BASE, 'PIPELINING'], 'DATA'],
  ['one command at a time', BASE, 'DATA'],
])('messages sent %s', (_how, keywords, verb) => {
  test.each(['client', 'server'] as const)('survive a cut at each byte of the %s', async (side) => {
    await using receiver = await startSmtpReceiver({ keywords, onRcpt });
    await using proxy = await startCuttingProxy(receiver.port);
    const bytesOf = () => (side === 'client' ? proxy.clientBytes : proxy.serverBytes);
    const opening = await connectionTo(receiver, { ip: proxy.host, port: proxy.port });
    const from = bytesOf();
    opening.destroy();
    expect(acceptedOf(await sendAll(receiver, proxy))).toEqual(ACCEPTED);
    expect(acceptedBy(receiver)).toEqual(ACCEPTED);
    expect(receiver.commands.some((command) => command.startsWith(verb))).toBe(true);
    const to = bytesOf();

    const mistakes: object[] = [];
    for (let bytes = from; bytes < to; bytes++) {
      proxy.cut = { side, bytes };
      const results = await sendAll(receiver, proxy);
      mistakes.push(...mistakesOf(results, receiver).map((mistake) => ({ bytes, ...mistake })));
    }
    expect(mistakes).toEqual([]);
  });

  test('survive a 421 instead of each reply', async () => {
    let repliesLeft = Number.POSITIVE_INFINITY;
    const onCommand = (session: ReceiverSession): typeof HANG_UP | undefined => {
      repliesLeft -= 1;
      if (repliesLeft >= 0) return undefined;
      session.send('421 4.3.2 closing\r\n');
      return HANG_UP;
    };
    await using receiver = await startSmtpReceiver({
      keywords,
      onMail: (_from, session) => onCommand(session),
      onRcpt: (to, session) => onCommand(session) ?? onRcpt(to),
      onData: onCommand,
      onMessage: (_message, session) => onCommand(session),
      onRset: onCommand,
    });
    const mistakes: object[] = [];
    for (let replies = 0; ; replies++) {
      repliesLeft = replies;
      const results = await sendAll(receiver, receiver);
      mistakes.push(...mistakesOf(results, receiver).map((mistake) => ({ replies, ...mistake })));
      if (repliesLeft >= 0) break;
    }
    expect(mistakes).toEqual([]);
    expect(acceptedBy(receiver)).toEqual(ACCEPTED);
  });
});

function onRcpt(to: string): string | undefined {
  return to.startsWith('no') ? '550 5.1.1 no such user' : undefined;
}

/** The results of all recipients, after the receiver has read whatever reaches it. */
async function sendAll(
  receiver: SmtpReceiver,
  { host, port }: Pick<SmtpReceiver, 'host' | 'port'>,
): Promise<Results> {
  receiver.messages.length = 0;
  const connection = await connectionTo(receiver, { ip: host, port });
  const results = await Promise.all(messages.map((message) => connection.send(message)));
  const session = receiver.sessions.at(-1);
  await connection.quit();
  await receiver.until(() => session?.closed ?? false);
  return results.flatMap(({ recipients }) => recipients);
}

type Results = readonly SmtpRecipientResult[];

function acceptedOf(results: Results): string[] {
  return results.filter(({ accepted }) => accepted).map(({ recipient }) => recipient);
}

function acceptedBy({ messages: received }: SmtpReceiver): string[] {
  return received.filter(({ accepted }) => accepted).flatMap(({ recipients }) => recipients);
}

/** Results that would lose a message, send it twice, or report a rejection that there was not. */
function mistakesOf(results: Results, receiver: SmtpReceiver): SmtpRecipientResult[] {
  const arrived = acceptedBy(receiver);
  return results.filter((result) => {
    const hasArrived = arrived.includes(result.recipient);
    if (result.accepted) return !hasArrived;
    const { failure } = result;
    if (failure.kind !== 'refused') return hasArrived && !failure.afterFinalDot;
    return hasArrived || (failure.reply.code !== 421 && !result.recipient.startsWith('no'));
  });
}
