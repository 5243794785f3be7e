import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { Crowd } from './crowd.ts';

/**
 * One place on which connections arrive. On a place for TLS a client shakes hands before anybody
 * greets it (RFC 8314 3.3); those who do not, or not in time, are let go without a word. Until then
 * no session counts them, so that they are counted here.
 */

export interface ListenerParts {
  clock: Clock;
  log: Log;
  host: string;
  port: number;
  /** What a connection is encrypted with from its first byte; asked anew for each. Undefined: it is not. */
  secureContext: (() => SecureContext) | undefined;
  /** From the connection to the greeting. */
  arrivalMs: number;
  connectionsMax: number;
  connectionsPerSource: number;
  arrived(socket: Socket): void;
}

export class Listener {
  readonly #parts: ListenerParts;
  readonly #server: Server;
  readonly #crowd: Crowd;
  readonly #arriving = new Set<Socket>();

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#crowd = new Crowd(parts.connectionsMax, parts.connectionsPerSource);
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
    if (this.#parts.secureContext) void this.#shakeHands(socket, this.#parts.secureContext());
    else this.#parts.arrived(socket);
  }

  async #shakeHands(socket: Socket, secureContext: SecureContext): Promise<void> {
    const ip = socket.remoteAddress ?? '';
    if (this.#crowd.enter(ip) !== undefined) {
      socket.destroy();
      return;
    }
    const secure = new TLSSocket(socket, { isServer: true, secureContext });
    secure.on('error', () => {});
    const shaken = await this.#inTime(secure, (done) => secure.once('secure', () => done(true)));
    this.#crowd.leave(ip);
    if (shaken) this.#parts.arrived(secure);
  }

  /** What `wait` tells, or undefined when the socket closes first: by itself, or because it is late. */
  #inTime<T>(socket: Socket, wait: (done: (result: T) => void) => void): Promise<T | undefined> {
    this.#arriving.add(socket);
    const timer = this.#parts.clock.after(this.#parts.arrivalMs, () => socket.destroy());
    return new Promise<T | undefined>((resolve) => {
      socket.once('close', gone);
      wait(settle);
      function gone(): void {
        resolve(undefined);
      }
      function settle(result: T): void {
        socket.off('close', gone);
        resolve(result);
      }
    }).finally(() => {
      timer.cancel();
      this.#arriving.delete(socket);
    });
  }
}
