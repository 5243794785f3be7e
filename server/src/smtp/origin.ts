import { isLoopback } from '../accounts/people/source-network.ts';
import type { ToldByProxy } from './proxy-header.ts';

/** Where a connection comes from. */
export interface Origin {
  /** Whom limits, logs and the networks of a key are about. */
  ip: string;
  /** Every address on the way that we know of: a key crosses no network when all are this machine. */
  way: readonly string[];
  /** Whether a proxy that we trust has taken TLS off, and what passes here passed encrypted there. */
  encrypted: boolean;
}

/** Straight from the client. */
export function directOrigin(peer: string): Origin {
  return { ip: peer, way: [peer], encrypted: false };
}

const NOT_TOLD = 'unknown';

/**
 * By a proxy. A loopback address means the proxy's own machine, so that from another one it says no
 * more than the proxy's address; and a client that is not told may be anywhere.
 */
export function proxiedOrigin(peer: string, { client, encrypted }: ToldByProxy): Origin {
  const isElsewhere = client !== undefined && isLoopback(client) && !isLoopback(peer);
  const told = isElsewhere ? undefined : client;
  return { ip: told ?? peer, way: [peer, told ?? NOT_TOLD], encrypted };
}
