import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../lib/net/client-network.ts';
import type { SessionCookie } from './session-cookie.ts';

/** What account operations need to know about the client of a request. */
export interface ClientInfo {
  ip: string;
  userAgent: string;
  host: string;
  /** Whether the request came through a proxy. */
  forwarded: boolean;
  /** The token in the session cookie, whether or not it is still valid. */
  sessionToken: string | undefined;
}

export function clientInfoOf(request: FastifyRequest, cookie: SessionCookie): ClientInfo {
  const { headers } = request;
  return {
    ip: request.ip,
    userAgent: headers['user-agent'] ?? '',
    host: headers.host ?? '',
    forwarded: PROXY_HEADERS.some((name) => headers[name] !== undefined),
    sessionToken: cookie.read(headers.cookie),
  };
}

const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * Whether the client runs on this machine. The IP address alone is not enough: behind a local
 * proxy every request comes from loopback, and a remote page can use a name that resolves to
 * loopback (DNS rebinding). Therefore no proxy header may be present, and both the requested
 * host and our own base URL must be loopback.
 */
export function isLocalClient(client: ClientInfo, baseUrl: string): boolean {
  return (
    isLoopback(client.ip) &&
    !client.forwarded &&
    isLoopbackHost(client.host) &&
    isLoopbackHost(new URL(baseUrl).host)
  );
}

function isLoopbackHost(host: string): boolean {
  const name = host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  return name === 'localhost' || isLoopback(name);
}
