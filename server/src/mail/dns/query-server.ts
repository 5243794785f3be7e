import { randomBytes, randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import {
  type DnsQuery,
  type DnsResponse,
  decodeResponse,
  encodeQuery,
  RCODE,
  type RecordType,
  TYPE_CODES,
} from './dns-message.ts';

/**
 * Sends one query to one DNS server, over UDP and, if the response is truncated or looks forged,
 * over TCP. An off-path attacker must guess the id, the source port and the case of every letter of
 * the name, and has one attempt: the first datagram that does not match ends UDP for this query.
 */

export interface DnsServer {
  address: string;
  port: number;
  /** Whether the server's AD bit can be trusted: the path to it must not be open to others. */
  trusted: boolean;
}

export type QueryResult =
  | { kind: 'reply'; response: DnsResponse }
  | { kind: 'failed'; detail: string };

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

/**
 * Resolvers echo the question unchanged, so its upper and lower case carries random bits (0x20
 * encoding).
 */
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
 * A socket per query has a source port chosen randomly by the kernel. A connected socket lets the
 * kernel drop datagrams from other senders and report a closed port immediately.
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
    // An event listener instead of a callback: the callback would also run when there is no route
    // to the server, and sending would then throw an uncaught exception.
    socket.on('connect', () => {
      if (!ended)
        socket.send(encodeQuery(query), (error) => error && end(connectionFailure(error)));
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
        return end({ kind: 'failed', detail: 'the response was malformed' });
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
  // A server that could not parse the query does not repeat it.
  if (!reply.question) return refusesEdns(reply);
  if (reply.question.type !== TYPE_CODES[question.type]) return false;
  if (exactCase) return reply.question.name === question.name;
  return reply.question.name.toLowerCase() === question.name.toLowerCase();
}

function timeoutResult(timeoutMs: number): QueryResult {
  return { kind: 'failed', detail: `no response within ${timeoutMs} ms` };
}

function connectionFailure(error: NodeJS.ErrnoException): QueryResult {
  return { kind: 'failed', detail: `the server cannot be reached (${error.code ?? error.name})` };
}
