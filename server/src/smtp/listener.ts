import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Networks } from '../accounts/networks.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { Crowd } from './crowd.ts';
import { directOrigin, type Origin, proxiedOrigin } from './origin.ts';
import { type ProxyHeader, readProxyHeader } from './proxy-header.ts';

/**
 * One place on which connections arrive. Before anybody is greeted a trusted proxy tells for whom it
 * speaks, and on a place for TLS the client shakes hands (RFC 8314 3.3); those who do not, or not in
 * time, are let go without a word. Until then no session counts them, so that they are counted here.
 */

export interface ListenerParts {
  clock: Clock;
  log: Log;
  /** For the log. */
  title: string;
  host: string;
  port: number;
  /** What a connection is encrypted with from its first byte; asked anew for each. Undefined: it is not. */
  secureContext: (() => SecureContext) | undefined;
  trustedProxies: Networks;
  /** For each thing that comes before the greeting. */
  arrivalMs: number;
  connectionsMax: number;
  connectionsPerSource: number;
  arrived(socket: Socket, origin: Origin): void;
}

export class Listener {
  readonly #parts: ListenerParts;
  readonly #server: Server;
  readonly #handshakes: Crowd;
  /** Proxies bring many clients from one address. */
  readonly #headers: Crowd;
  readonly #arriving = new Set<Socket>();

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#handshakes = new Crowd(parts.connectionsMax, parts.connectionsPerSource);
    this.#headers = new Crowd(parts.connectionsMax, parts.connectionsMax);
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
    for (const socket of this.#arriving) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    // A client that breaks its connection is no fault of ours; what follows hears of it by the close.
    socket.on('error', () => {});
    const peer = socket.remoteAddress ?? '';
    if (this.#parts.trustedProxies.include(peer)) void this.#acceptProxied(socket, peer);
    else void this.#introduce(socket, directOrigin(peer));
  }

  /** There must be a header: whoever guesses whether it is one lets clients write it. */
  async #acceptProxied(socket: Socket, peer: string): Promise<void> {
    const header = await this.#inTime<ProxyHeader>(this.#headers, peer, socket, (done) =>
      whenHeaderIsRead(socket, done),
    );
    if (header?.kind === 'header') return this.#introduce(socket, proxiedOrigin(peer, header.told));
    if (header?.kind !== 'invalid') return;
    const { log, title } = this.#parts;
    log.warn({ ip: peer }, `a connection of a proxy to ${title} was let go: ${header.detail}`);
    socket.destroy();
  }

  async #introduce(socket: Socket, origin: Origin): Promise<void> {
    const { secureContext, arrived } = this.#parts;
    // A session hears of an end that is still to come, and of no other: it would stay for ever.
    if (socket.destroyed) return;
    if (!secureContext) return arrived(socket, origin);
    const secure = new TLSSocket(socket, { isServer: true, secureContext: secureContext() });
    secure.on('error', () => {});
    const shaken = await this.#inTime<true>(this.#handshakes, origin.ip, secure, (done) =>
      secure.once('secure', () => done(true)),
    );
    if (shaken && !secure.destroyed) arrived(secure, origin);
  }

  /**
   * What `wait` tells; or undefined when there is no room, or the socket closes first: by itself, or
   * because it is late.
   */
  async #inTime<T>(
    crowd: Crowd,
    ip: string,
    socket: Socket,
    wait: (done: (result: T) => void) => void,
  ): Promise<T | undefined> {
    if (crowd.enter(ip) !== undefined) {
      socket.destroy();
      return undefined;
    }
    this.#arriving.add(socket);
    const timer = this.#parts.clock.after(this.#parts.arrivalMs, () => socket.destroy());
    const told = await new Promise<T | undefined>((resolve) => {
      socket.once('close', () => resolve(undefined));
      wait(resolve);
    });
    timer.cancel();
    this.#arriving.delete(socket);
    crowd.leave(ip);
    return told;
  }
}

/** What came behind the header is put back, to be read by whoever comes next. */
function whenHeaderIsRead(socket: Socket, done: (header: ProxyHeader) => void): void {
  let data: Buffer = Buffer.alloc(0);
  // A client that only closes its side is gone too, and tells nobody who does not read.
  const end = (): void => void socket.destroy();
  const read = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    data = Buffer.concat([data, chunk]);
    const header = readProxyHeader(data);
    if (header.kind === 'incomplete') return;
    socket.off('readable', read).off('end', end);
    if (header.kind === 'header') socket.unshift(data.subarray(header.bytes));
    done(header);
  };
  socket.on('readable', read).on('end', end);
}
