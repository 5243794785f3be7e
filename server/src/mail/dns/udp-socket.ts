import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Clock, Timer } from '../../lib/time/clock.ts';
import { type DnsQuery, type DnsResponse, decodeResponse, encodeQuery } from './dns-message.ts';

/**
 * A UDP socket for a limited number of queries to one DNS server. Opening a socket costs several
 * times as much as sending a query, and a message to a new domain needs two of them. Its port is
 * chosen by the kernel at random, and a connected socket lets the kernel drop datagrams from other
 * senders and report a closed port immediately.
 *
 * A forger of answers has one attempt, as if each query had its own socket: the first datagram that
 * does not match any query ends UDP for all queries of the socket.
 */
export class UdpSocket {
  readonly #socket: Socket;
  readonly #parts: UdpSocketParts;
  readonly #lifetime: Timer;
  /** By ID. An entry without a value was answered, or timed out: what arrives for it is ignored. */
  readonly #queries = new Map<number, PendingQuery | undefined>();
  #pending = 0;
  #connected = false;
  #retired = false;
  #closed = false;

  constructor(parts: UdpSocketParts) {
    this.#parts = parts;
    const { address, port, clock } = parts;
    this.#socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#socket.on('error', (error) => this.#endAll({ kind: 'unreachable', error }));
    this.#socket.on('message', (bytes) => this.#onMessage(bytes));
    // An event listener instead of a callback: the callback would also run when there is no route
    // to the server, and sending would then throw an uncaught exception.
    this.#socket.on('connect', () => this.#onConnect());
    this.#socket.connect(port, address);
    this.#lifetime = clock.after(LIFETIME_MS, () => this.#retire());
  }

  /** Whether the socket takes another query, with this ID. */
  accepts(id: number): boolean {
    return !this.#retired && this.#queries.size < QUERIES_MAX && !this.#queries.has(id);
  }

  send(query: DnsQuery, timeoutMs: number): Promise<UdpResult> {
    return new Promise((resolve) => {
      const timer = this.#parts.clock.after(timeoutMs, () => {
        // The network may have changed. The next attempt uses another socket.
        this.#retire();
        this.#end(query.id, { kind: 'timeout' });
      });
      this.#queries.set(query.id, { query, resolve, timer });
      this.#pending += 1;
      if (!this.#connected) return;
      // Only a socket with queries keeps the process alive.
      if (this.#pending === 1) this.#socket.ref();
      this.#socket.send(encodeQuery(query));
    });
  }

  #onConnect(): void {
    if (this.#closed) return;
    this.#connected = true;
    for (const waiting of this.#queries.values()) {
      if (waiting) this.#socket.send(encodeQuery(waiting.query));
    }
  }

  #onMessage(bytes: Buffer): void {
    const response = decodeResponse(bytes);
    if (response && this.#queries.has(response.id)) {
      const pending = this.#queries.get(response.id);
      if (!pending) return;
      if (this.#parts.matches(response, pending.query)) {
        const useTcp = response.truncated;
        this.#end(response.id, useTcp ? { kind: 'use_tcp' } : { kind: 'reply', response });
        return;
      }
    }
    this.#endAll({ kind: 'use_tcp' });
  }

  #end(id: number, result: UdpResult): void {
    const query = this.#queries.get(id);
    if (!query) return;
    this.#queries.set(id, undefined);
    this.#pending -= 1;
    query.timer.cancel();
    query.resolve(result);
    if (this.#pending > 0) return;
    if (this.#retired || this.#queries.size >= QUERIES_MAX) this.#close();
    else if (this.#connected) this.#socket.unref();
  }

  #endAll(result: UdpResult): void {
    this.#retired = true;
    for (const id of this.#queries.keys()) this.#end(id, result);
    this.#close();
  }

  #retire(): void {
    this.#retired = true;
    if (this.#pending === 0) this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#retired = true;
    this.#lifetime.cancel();
    this.#socket.close();
  }
}

export interface UdpSocketParts {
  address: string;
  port: number;
  clock: Clock;
  /** Whether a response with the ID of the query belongs to it. */
  matches: (response: DnsResponse, query: DnsQuery) => boolean;
}

export type UdpResult =
  | { kind: 'reply'; response: DnsResponse }
  /** The response is truncated, or a datagram looks forged. */
  | { kind: 'use_tcp' }
  | { kind: 'timeout' }
  | { kind: 'unreachable'; error: NodeJS.ErrnoException };

interface PendingQuery {
  query: DnsQuery;
  resolve: (result: UdpResult) => void;
  timer: Timer;
}

/** Few enough that a port is not used for long, and enough that opening it hardly counts. */
const QUERIES_MAX = 64;
const LIFETIME_MS = 2_000;
