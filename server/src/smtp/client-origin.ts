import { isLoopback } from '../lib/net/client-network.ts';
import type { ProxiedClient } from './proxy-protocol.ts';

/** Where a connection comes from. */
export interface ClientOrigin {
  /** The address that limits, logs and the allowed networks of an API key apply to. */
  ip: string;
  /**
   * Every known address between the client and us. When all of them are local, credentials cross no
   * network.
   */
  hops: readonly string[];
  /** Whether a trusted proxy terminated TLS: the client's side of the connection is encrypted. */
  encrypted: boolean;
}

/** The origin of a client that connects directly. */
export function directOrigin(peer: string): ClientOrigin {
  return { ip: peer, hops: [peer], encrypted: false };
}

const UNKNOWN_CLIENT = 'unknown';

/**
 * The origin of a client behind a proxy. A loopback address refers to the proxy's own machine, so
 * from a remote proxy it identifies only the proxy. A client that the proxy does not name may be
 * anywhere.
 */
export function proxiedOrigin(
  peer: string,
  { ip: client, encrypted }: ProxiedClient,
): ClientOrigin {
  const isRemoteLoopback = client !== undefined && isLoopback(client) && !isLoopback(peer);
  const clientIp = isRemoteLoopback ? undefined : client;
  return { ip: clientIp ?? peer, hops: [peer, clientIp ?? UNKNOWN_CLIENT], encrypted };
}
