import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../lib/net/client-network.ts';
import type { SessionCookie } from './session-cookie.ts';

/** What an operation of people may want to know about the request itself. */
export interface ClientInfo {
  ip: string;
  userAgent: string;
  host: string;
  /** A proxy stands between us and the visitor. */
  forwarded: boolean;
  /** The secret in the session's cookie, whether it is still good or not. */
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
 * Whether the visitor sits at this machine. The address alone does not tell: behind a proxy on the
 * same machine everybody comes from it, and a page elsewhere can give itself a name that resolves to
 * it (DNS rebinding). So no proxy may show, and both the name that was asked for and our own must be
 * this machine's.
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
