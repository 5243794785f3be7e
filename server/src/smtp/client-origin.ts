import { isLoopback } from '../lib/net/client-network.ts';
import type { ProxiedClient } from './proxy-protocol.ts';

/** Where a connection comes from. */
export interface ClientOrigin {
  /** Whom limits, logs and the networks of a key are about. */
  ip: string;
  /** Every address on the way that we know of: a key crosses no network when all are this machine. */
  hops: readonly string[];
  /** Whether a proxy that we trust has taken TLS off, and what passes here passed encrypted there. */
  encrypted: boolean;
}

/** Straight from the client. */
export function directOrigin(peer: string): ClientOrigin {
  return { ip: peer, hops: [peer], encrypted: false };
}

const UNKNOWN_CLIENT = 'unknown';

/**
 * By a proxy. A loopback address means the proxy's own machine, so that from another one it says no
 * more than the proxy's address; and a client that is not told may be anywhere.
 */
export function proxiedOrigin(
  peer: string,
  { ip: client, encrypted }: ProxiedClient,
): ClientOrigin {
  const isRemoteLoopback = client !== undefined && isLoopback(client) && !isLoopback(peer);
  const clientIp = isRemoteLoopback ? undefined : client;
  return { ip: clientIp ?? peer, hops: [peer, clientIp ?? UNKNOWN_CLIENT], encrypted };
}
