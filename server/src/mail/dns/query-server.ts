import { randomBytes, randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import {
  decodeReply,
  encodeQuestion,
  RCODE,
  type RecordType,
  TYPE_CODES,
  type WireQuestion,
  type WireReply,
} from './dns-message.ts';

/**
 * One question to one DNS server, by UDP and, when the answer does not fit or looks forged, by TCP.
 * A forger who cannot see our datagrams must guess the id, the source port and the case of every
 * letter of the name, and gets one guess: the first datagram that does not match ends UDP for this
 * question.
 */

export interface DnsServer {
  address: string;
  port: number;
  /** Whether the AD bit of this server means anything: the path to it must not be open to others. */
  trusted: boolean;
}

export type Exchange = { kind: 'reply'; reply: WireReply } | { kind: 'failed'; detail: string };

type Datagram = Exchange | { kind: 'use_tcp' };

export interface ExchangeSettings {
  timeoutMs: number;
  clock: Clock;
}

export async function exchange(
  server: DnsServer,
  type: RecordType,
  name: string,
  settings: ExchangeSettings,
): Promise<Exchange> {
  const outcome = await askOnce(server, type, name, true, settings);
  if (outcome.kind === 'reply' && refusesEdns(outcome.reply)) {
    return askOnce(server, type, name, false, settings);
  }
  return outcome;
}

function refusesEdns(reply: WireReply): boolean {
  return reply.rcode === RCODE.FORMERR || reply.rcode === RCODE.NOTIMP;
}

async function askOnce(
  server: DnsServer,
  type: RecordType,
  name: string,
  edns: boolean,
  settings: ExchangeSettings,
): Promise<Exchange> {
  const question: WireQuestion = {
    id: randomInt(0x10000),
    name: randomCase(name),
    type,
    edns,
    wantAuthenticated: server.trusted,
  };
  const datagram = await askByUdp(server, question, settings);
  if (datagram.kind !== 'use_tcp') return datagram;
  return askByTcp(server, question, settings);
}

/** Any resolver copies the question as it came, so its letters' case carries bits of a secret. */
function randomCase(name: string): string {
  const bits = randomBytes(Math.ceil(name.length / 8));
  let mixed = '';
  for (let i = 0; i < name.length; i++) {
    const letter = name[i] as string;
    mixed += ((bits[i >> 3] as number) >> (i & 7)) & 1 ? letter.toUpperCase() : letter;
  }
  return mixed;
}

/**
 * A socket of its own per question gives a source port that the kernel chose at random; connecting
 * it lets the kernel drop datagrams from other senders and report a closed port at once.
 */
function askByUdp(
  server: DnsServer,
  question: WireQuestion,
  { timeoutMs, clock }: ExchangeSettings,
): Promise<Datagram> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    let ended = false;
    const timer = clock.after(timeoutMs, () => end(noAnswer(timeoutMs)));
    socket.on('error', (error) => end(broken(error)));
    socket.on('message', (bytes) => {
      const reply = decodeReply(bytes);
      if (!reply || !answers(reply, question, true)) return end({ kind: 'use_tcp' });
      end(reply.truncated ? { kind: 'use_tcp' } : { kind: 'reply', reply });
    });
    // Without a callback of its own: one would be called without a connection too, when there is no
    // way to the server, and sending then throws where nobody can catch it.
    socket.on('connect', () => {
      if (!ended) socket.send(encodeQuestion(question), (error) => error && end(broken(error)));
    });
    socket.connect(server.port, server.address);

    function end(outcome: Datagram): void {
      if (ended) return;
      ended = true;
      timer.cancel();
      socket.close();
      resolve(outcome);
    }
  });
}

function askByTcp(
  server: DnsServer,
  question: WireQuestion,
  { timeoutMs, clock }: ExchangeSettings,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port });
    const timer = clock.after(timeoutMs, () => end(noAnswer(timeoutMs)));
    let received = Buffer.alloc(0);
    socket.on('connect', () => {
      const message = encodeQuestion(question);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length, 0);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const reply = decodeReply(received.subarray(2, 2 + received.readUInt16BE(0)));
      if (!reply || reply.truncated || !answers(reply, question, false)) {
        return end({ kind: 'failed', detail: 'the answer was malformed' });
      }
      end({ kind: 'reply', reply });
    });
    socket.on('error', (error) => end(broken(error)));
    socket.on('close', () => end({ kind: 'failed', detail: 'the server closed the connection' }));

    function end(outcome: Exchange): void {
      timer.cancel();
      socket.destroy();
      resolve(outcome);
    }
  });
}

function answers(reply: WireReply, question: WireQuestion, exactCase: boolean): boolean {
  if (reply.id !== question.id) return false;
  // A server that could not read the question cannot repeat it.
  if (!reply.question) return refusesEdns(reply);
  if (reply.question.type !== TYPE_CODES[question.type]) return false;
  if (exactCase) return reply.question.name === question.name;
  return reply.question.name.toLowerCase() === question.name.toLowerCase();
}

function noAnswer(timeoutMs: number): Exchange {
  return { kind: 'failed', detail: `no answer within ${timeoutMs} ms` };
}

function broken(error: NodeJS.ErrnoException): Exchange {
  return { kind: 'failed', detail: `the server cannot be reached (${error.code ?? error.name})` };
}
