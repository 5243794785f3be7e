import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { CellAddress } from '../config/cell-settings.ts';

/**
 * Sends a request to a cell over connections that are kept open. Nothing of the body is parsed: it is
 * either in memory already, or piped.
 */
export class CellUnreachableError extends Error {
  constructor(cell: CellAddress, cause: Error) {
    super(`the cell ${cell.name} cannot be reached`, { cause });
    this.name = 'CellUnreachableError';
  }
}

/** The connection broke before the response: whether the cell has acted on the request is unknown. */
export class ConnectionLostError extends Error {
  constructor(cell: CellAddress, cause: Error) {
    super(`the cell ${cell.name} closed the connection before it responded`, { cause });
    this.name = 'ConnectionLostError';
  }
}

/** Cells close idle connections after 75 seconds, and announce it. */
const AGENT = { keepAlive: true, scheduling: 'lifo' } as const;
const CONNECT_TIMEOUT_MS = 3_000;

export class CellConnections {
  readonly #http = new http.Agent(AGENT);
  readonly #https = new https.Agent(AGENT);

  /** Resolves with the response as soon as its headers have arrived. */
  send(
    cell: CellAddress,
    request: IncomingMessage,
    body: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { protocol, hostname: bracketed, port } = new URL(cell.url);
    const hostname = bracketed.replace(/^\[|\]$/g, '');
    const isSecure = protocol === 'https:';
    return new Promise((resolve, reject) => {
      const forwarded = (isSecure ? https : http).request({
        hostname,
        port,
        // Node would expect the certificate of the host that the client names.
        servername: isIP(hostname) ? '' : hostname,
        // Not part of a URL, in which it could change the host.
        path: request.url ?? '/',
        method: request.method ?? 'GET',
        headers: forwardedHeaders(request, body),
        agent: isSecure ? this.#https : this.#http,
        setHost: false,
        signal,
      });
      let isConnected = false;
      forwarded.once('socket', (socket) => {
        whenConnected(socket, forwarded, () => {
          isConnected = true;
        });
      });
      forwarded.once('response', resolve);
      forwarded.on('error', (error) => {
        // The rest of the body goes nowhere, so that the client can read the response.
        request.unpipe(forwarded).resume();
        reject(
          isConnected
            ? new ConnectionLostError(cell, error)
            : new CellUnreachableError(cell, error),
        );
      });
      if (body) forwarded.end(body);
      else request.pipe(forwarded);
    });
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

function whenConnected(socket: Socket, forwarded: http.ClientRequest, done: () => void): void {
  if (!socket.connecting) {
    done();
    return;
  }
  const timer = setTimeout(
    () => forwarded.destroy(new Error('connecting took too long')),
    CONNECT_TIMEOUT_MS,
  );
  socket.once('close', () => clearTimeout(timer));
  socket.once('connect', () => {
    clearTimeout(timer);
    done();
  });
}

/** Of one connection only (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** A client must not be able to remove them: the cell would find another request in the body. */
const FRAMING = new Set(['content-length', 'host']);

export function endToEndHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const isOfConnection = (name: string): boolean =>
    HOP_BY_HOP.has(name) || (named.includes(name) && !FRAMING.has(name));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isOfConnection(name)));
}

function forwardedHeaders(
  { headers, socket }: IncomingMessage,
  body: Buffer | undefined,
): http.OutgoingHttpHeaders {
  // We have answered it ourselves.
  const { expect: _expect, ...rest } = endToEndHeaders(headers);
  const chain = [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ');
  return {
    ...rest,
    'x-forwarded-for': chain,
    // Without a length, the body must be framed whatever the method is.
    ...(body === undefined && headers['content-length'] === undefined
      ? { 'transfer-encoding': 'chunked' }
      : {}),
  };
}
