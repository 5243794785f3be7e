import { randomBytes, randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import {
  decodeResponse,
  encodeQuery,
  RCODE,
  type RecordType,
  TYPE_CODES,
  type DnsQuery,
  type DnsResponse,
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

export type QueryResult = { kind: 'reply'; response: DnsResponse } | { kind: 'failed'; detail: string };

type UdpResult = QueryResult | { kind: 'use_tcp' };

export interface QuerySettings {
  timeoutMs: number;
  clock: Clock;
}

export async function queryServer(
  server: DnsServer,
  type: RecordType,
  name: string,
  settings: QuerySettings,
): Promise<QueryResult> {
  const result = await queryOnce(server, type, name, true, settings);
  if (result.kind === 'reply' && refusesEdns(result.response)) {
    return queryOnce(server, type, name, false, settings);
  }
  return result;
}

function refusesEdns(reply: DnsResponse): boolean {
  return reply.rcode === RCODE.FORMERR || reply.rcode === RCODE.NOTIMP;
}

async function queryOnce(
  server: DnsServer,
  type: RecordType,
  name: string,
  edns: boolean,
  settings: QuerySettings,
): Promise<QueryResult> {
  const query: DnsQuery = {
    id: randomInt(0x10000),
    name: randomizeCase(name),
    type,
    edns,
    requestAuthenticated: server.trusted,
  };
  const udpResult = await queryUdp(server, query, settings);
  if (udpResult.kind !== 'use_tcp') return udpResult;
  return queryTcp(server, query, settings);
}

/** Any resolver copies the question as it came, so its letters' case carries bits of a secret. */
function randomizeCase(name: string): string {
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
function queryUdp(
  server: DnsServer,
  query: DnsQuery,
  { timeoutMs, clock }: QuerySettings,
): Promise<UdpResult> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    let ended = false;
    const timer = clock.after(timeoutMs, () => end(timeoutResult(timeoutMs)));
    socket.on('error', (error) => end(connectionFailure(error)));
    socket.on('message', (bytes) => {
      const reply = decodeResponse(bytes);
      if (!reply || !matchesQuery(reply, query, true)) return end({ kind: 'use_tcp' });
      end(reply.truncated ? { kind: 'use_tcp' } : { kind: 'reply', response: reply });
    });
    // Without a callback of its own: one would be called without a connection too, when there is no
    // way to the server, and sending then throws where nobody can catch it.
    socket.on('connect', () => {
      if (!ended) socket.send(encodeQuery(query), (error) => error && end(connectionFailure(error)));
    });
    socket.connect(server.port, server.address);

    function end(outcome: UdpResult): void {
      if (ended) return;
      ended = true;
      timer.cancel();
      socket.close();
      resolve(outcome);
    }
  });
}

function queryTcp(
  server: DnsServer,
  query: DnsQuery,
  { timeoutMs, clock }: QuerySettings,
): Promise<QueryResult> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port });
    const timer = clock.after(timeoutMs, () => end(timeoutResult(timeoutMs)));
    let received = Buffer.alloc(0);
    socket.on('connect', () => {
      const message = encodeQuery(query);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length, 0);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const reply = decodeResponse(received.subarray(2, 2 + received.readUInt16BE(0)));
      if (!reply || reply.truncated || !matchesQuery(reply, query, false)) {
        return end({ kind: 'failed', detail: 'the answer was malformed' });
      }
      end({ kind: 'reply', response: reply });
    });
    socket.on('error', (error) => end(connectionFailure(error)));
    socket.on('close', () => end({ kind: 'failed', detail: 'the server closed the connection' }));

    function end(outcome: QueryResult): void {
      timer.cancel();
      socket.destroy();
      resolve(outcome);
    }
  });
}

function matchesQuery(reply: DnsResponse, question: DnsQuery, exactCase: boolean): boolean {
  if (reply.id !== question.id) return false;
  // A server that could not read the question cannot repeat it.
  if (!reply.question) return refusesEdns(reply);
  if (reply.question.type !== TYPE_CODES[question.type]) return false;
  if (exactCase) return reply.question.name === question.name;
  return reply.question.name.toLowerCase() === question.name.toLowerCase();
}

function timeoutResult(timeoutMs: number): QueryResult {
  return { kind: 'failed', detail: `no answer within ${timeoutMs} ms` };
}

function connectionFailure(error: NodeJS.ErrnoException): QueryResult {
  return { kind: 'failed', detail: `the server cannot be reached (${error.code ?? error.name})` };
}
