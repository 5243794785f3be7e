import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { IpRanges } from '../lib/net/ip-ranges.ts';
import { type ClientOrigin, directOrigin, proxiedOrigin } from './client-origin.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { type ProxyHeader, parseProxyHeader } from './proxy-protocol.ts';

/**
 * One place on which connections arrive. Before anybody is greeted a trusted proxy tells for whom it
 * speaks, and on a place for TLS the client shakes hands (RFC 8314 3.3); those who do not, or not in
 * time, are let go without a word. Until then no session counts them, so that they are counted here.
 */

export interface TcpListenerParts {
  clock: Clock;
  log: Log;
  /** For the log. */
  label: string;
  host: string;
  port: number;
  /** What a connection is encrypted with from its first byte; asked anew for each. Undefined: it is not. */
  secureContext: (() => SecureContext) | undefined;
  trustedProxies: IpRanges;
  /** For each thing that comes before the greeting. */
  handshakeMs: number;
  connectionsMax: number;
  connectionsPerNetwork: number;
  onConnection(socket: Socket, origin: ClientOrigin): void;
}

export class TcpListener {
  readonly #parts: TcpListenerParts;
  readonly #server: Server;
  readonly #handshakeLimiter: ConnectionLimiter;
  /** Proxies bring many clients from one address. */
  readonly #proxyHeaderLimiter: ConnectionLimiter;
  readonly #pendingSockets = new Set<Socket>();

  constructor(parts: TcpListenerParts) {
    this.#parts = parts;
    this.#handshakeLimiter = new ConnectionLimiter(
      parts.connectionsMax,
      parts.connectionsPerNetwork,
    );
    this.#proxyHeaderLimiter = new ConnectionLimiter(parts.connectionsMax, parts.connectionsMax);
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.on('error', (error) =>
      parts.log.debug({ err: error }, 'an SMTP port has a fault'),
    );
  }

  /** Throws what the socket says when the port cannot be had. */
  async listen(): Promise<AddressInfo> {
    const { host, port } = this.#parts;
    await once(this.#server.listen({ host, port }), 'listening');
    return this.#server.address() as AddressInfo;
  }

  /** Lets go of those who have not arrived; resolves when the last connection is gone. */
  close(): Promise<void> {
    for (const socket of this.#pendingSockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    // A client that breaks its connection is no fault of ours; what follows hears of it by the close.
    socket.on('error', () => {});
    const peer = socket.remoteAddress ?? '';
    if (this.#parts.trustedProxies.includes(peer)) void this.#acceptProxied(socket, peer);
    else void this.#establish(socket, directOrigin(peer));
  }

  /** There must be a header: whoever guesses whether it is one lets clients write it. */
  async #acceptProxied(socket: Socket, peer: string): Promise<void> {
    const header = await this.#awaitWithin<ProxyHeader>(
      this.#proxyHeaderLimiter,
      peer,
      socket,
      (done) => onProxyHeader(socket, done),
    );
    if (header?.kind === 'header')
      return this.#establish(socket, proxiedOrigin(peer, header.client));
    if (header?.kind !== 'invalid') return;
    const { log, label: title } = this.#parts;
    log.warn({ ip: peer }, `a connection of a proxy to ${title} was let go: ${header.detail}`);
    socket.destroy();
  }

  async #establish(socket: Socket, origin: ClientOrigin): Promise<void> {
    const { secureContext, onConnection: arrived } = this.#parts;
    // A session hears of an end that is still to come, and of no other: it would stay for ever.
    if (socket.destroyed) return;
    if (!secureContext) return arrived(socket, origin);
    const secure = new TLSSocket(socket, { isServer: true, secureContext: secureContext() });
    secure.on('error', () => {});
    const completed = await this.#awaitWithin<true>(
      this.#handshakeLimiter,
      origin.ip,
      secure,
      (done) => secure.once('secure', () => done(true)),
    );
    if (completed && !secure.destroyed) arrived(secure, origin);
  }

  /**
   * What `wait` tells; or undefined when there is no room, or the socket closes first: by itself, or
   * because it is late.
   */
  async #awaitWithin<T>(
    limiter: ConnectionLimiter,
    ip: string,
    socket: Socket,
    wait: (done: (result: T) => void) => void,
  ): Promise<T | undefined> {
    if (limiter.acquire(ip) !== undefined) {
      socket.destroy();
      return undefined;
    }
    this.#pendingSockets.add(socket);
    const timer = this.#parts.clock.after(this.#parts.handshakeMs, () => socket.destroy());
    const result = await new Promise<T | undefined>((resolve) => {
      socket.once('close', () => resolve(undefined));
      wait(resolve);
    });
    timer.cancel();
    this.#pendingSockets.delete(socket);
    limiter.release(ip);
    return result;
  }
}

/** What came behind the header is put back, to be read by whoever comes next. */
function onProxyHeader(socket: Socket, done: (header: ProxyHeader) => void): void {
  let data: Buffer = Buffer.alloc(0);
  // A client that only closes its side is gone too, and tells nobody who does not read.
  const end = (): void => void socket.destroy();
  const read = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    data = Buffer.concat([data, chunk]);
    const header = parseProxyHeader(data);
    if (header.kind === 'incomplete') return;
    socket.off('readable', read).off('end', end);
    if (header.kind === 'header') socket.unshift(data.subarray(header.bytes));
    done(header);
  };
  socket.on('readable', read).on('end', end);
}
