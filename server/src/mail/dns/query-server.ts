import { randomFillSync, randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  type DnsQuery,
  type DnsResponse,
  decodeResponse,
  encodeQuery,
  RCODE,
  type RecordType,
  TYPE_CODES,
} from './dns-message.ts';
import { UdpSocket } from './udp-socket.ts';

/**
 * Sends queries to DNS servers, over UDP and, if the response is truncated or looks forged, over
 * TCP. An off-path attacker must guess the id, the source port and the case of every letter of the
 * name, and has one attempt: the first datagram that does not match ends UDP for this query.
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

export interface QuerySettings {
  timeoutMs: number;
  clock: Clock;
}

export type QueryServer = (
  server: DnsServer,
  type: RecordType,
  name: string,
) => Promise<QueryResult>;

export function createQueryServer(settings: QuerySettings): QueryServer {
  /** The socket that takes the next queries to a server. */
  const sockets = new WeakMap<DnsServer, UdpSocket>();

  return async (server, type, name) => {
    const result = await queryOnce(server, type, name, true);
    if (result.kind === 'reply' && refusesEdns(result.response)) {
      return queryOnce(server, type, name, false);
    }
    return result;
  };

  async function queryOnce(
    server: DnsServer,
    type: RecordType,
    name: string,
    edns: boolean,
  ): Promise<QueryResult> {
    const query: DnsQuery = {
      id: randomInt(0x10000),
      name: randomizeCase(name),
      type,
      edns,
      requestAuthenticated: server.trusted,
    };
    const result = await socketFor(server, query.id).send(query, settings.timeoutMs);
    switch (result.kind) {
      case 'reply':
        return result;
      case 'use_tcp':
        return queryTcp(server, query, settings);
      case 'timeout':
        return timeoutResult(settings.timeoutMs);
      case 'unreachable':
        return connectionFailure(result.error);
      default:
        return unreachable(result);
    }
  }

  function socketFor(server: DnsServer, id: number): UdpSocket {
    const current = sockets.get(server);
    if (current?.accepts(id)) return current;
    const { address, port } = server;
    const matches = (response: DnsResponse, query: DnsQuery) => matchesQuery(response, query, true);
    const socket = new UdpSocket({ address, port, clock: settings.clock, matches });
    sockets.set(server, socket);
    return socket;
  }
}

function refusesEdns(reply: DnsResponse): boolean {
  return reply.rcode === RCODE.FORMERR || reply.rcode === RCODE.NOTIMP;
}

/**
 * Resolvers echo the question unchanged, so its upper and lower case carries random bits (0x20
 * encoding).
 */
function randomizeCase(name: string): string {
  if (randomBitsUsed + name.length > randomBits.length * 8) {
    randomFillSync(randomBits);
    randomBitsUsed = 0;
  }
  let mixed = '';
  for (let i = 0; i < name.length; i++) {
    const bit = randomBitsUsed + i;
    const letter = name[i] as string;
    mixed += ((randomBits[bit >> 3] as number) >> (bit & 7)) & 1 ? letter.toUpperCase() : letter;
  }
  randomBitsUsed += name.length;
  return mixed;
}

/** Each bit is used once; a call of the random number generator for each query would cost more. */
const randomBits = Buffer.alloc(4096);
let randomBitsUsed = randomBits.length * 8;

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
