import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Log } from '../lib/log.ts';
import type { IpRanges } from '../lib/net/ip-ranges.ts';
import type { Clock } from '../lib/time/clock.ts';
import { type ClientOrigin, directOrigin, proxiedOrigin } from './client-origin.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { type ProxyHeader, parseProxyHeader } from './proxy-protocol.ts';

/**
 * Listens on one port. Before the greeting it reads the PROXY header of trusted proxies and, on an
 * implicit TLS port, completes the handshake (RFC 8314 section 3.3). Connections that fail either
 * step or take too long are closed. No session counts them yet, so they have limits of their own
 * here.
 */

export interface TcpListenerParts {
  clock: Clock;
  log: Log;
  /** For logs, such as `submission`. */
  label: string;
  host: string;
  port: number;
  /**
   * The TLS context for implicit TLS, read for each connection. Undefined on plaintext and STARTTLS
   * ports.
   */
  secureContext: (() => SecureContext) | undefined;
  trustedProxies: IpRanges;
  /** Timeout for each step before the greeting. */
  handshakeMs: number;
  connectionsMax: number;
  connectionsPerNetwork: number;
  onConnection(socket: Socket, origin: ClientOrigin): void;
}

export class TcpListener {
  readonly #parts: TcpListenerParts;
  readonly #server: Server;
  readonly #handshakeLimiter: ConnectionLimiter;
  /** A proxy opens many connections from one address, so only the total is limited. */
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
    this.#server.on('error', (error) => parts.log.debug({ err: error }, 'SMTP listener error'));
  }

  /** Rejects with the socket's error when the port is not available. */
  async listen(): Promise<AddressInfo> {
    const { host, port } = this.#parts;
    await once(this.#server.listen({ host, port }), 'listening');
    return this.#server.address() as AddressInfo;
  }

  /**
   * Closes connections that are not established yet; resolves when the last connection is closed.
   */
  close(): Promise<void> {
    for (const socket of this.#pendingSockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    // Client errors are expected; every later step notices them through 'close'.
    socket.on('error', () => {});
    const peer = socket.remoteAddress ?? '';
    if (this.#parts.trustedProxies.includes(peer)) void this.#acceptProxied(socket, peer);
    else void this.#establish(socket, directOrigin(peer));
  }

  /** The header is mandatory: if it were optional, clients could write one themselves. */
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
    const { log, label } = this.#parts;
    const fields = { ip: peer, listener: label, detail: header.detail };
    log.warn(fields, 'proxied connection closed: invalid PROXY header');
    socket.destroy();
  }

  async #establish(socket: Socket, origin: ClientOrigin): Promise<void> {
    const { secureContext, onConnection } = this.#parts;
    // A session only notices a close that is still to come; on a closed socket it would never end.
    if (socket.destroyed) return;
    if (!secureContext) return onConnection(socket, origin);
    const secure = new TLSSocket(socket, { isServer: true, secureContext: secureContext() });
    secure.on('error', () => {});
    const completed = await this.#awaitWithin<true>(
      this.#handshakeLimiter,
      origin.ip,
      secure,
      (done) => secure.once('secure', () => done(true)),
    );
    if (completed && !secure.destroyed) onConnection(secure, origin);
  }

  /**
   * Resolves with the result of `wait`, or with undefined when the limit is reached or the socket
   * closes first, for example because of the timeout.
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

/** Puts the bytes after the header back, for the next reader. */
function onProxyHeader(socket: Socket, done: (header: ProxyHeader) => void): void {
  let data: Buffer = Buffer.alloc(0);
  // A half-closed client is gone as well; without this, the socket would stay open.
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
