import { isLoopback } from '../../lib/net/client-network.ts';
import type { SessionTimeouts } from '../smtp-session.ts';

/** Time limits of a submission session, and which clients count as local. */
export interface SubmissionLimits extends SessionTimeouts {
  /** Time for the PROXY header and for the TLS handshake. */
  handshakeMs: number;
  /** Time until AUTH succeeds. */
  authMs: number;
  /** Time without a command from the client (RFC 5321 section 4.5.3.2.7). */
  idleMs: number;
  /** Delay of the reply to a network's first failed AUTH. */
  authFailureDelayMs: number;
  /** Whether a client address is on this machine; tests override it. */
  isLocal: (ip: string) => boolean;
}

export const SUBMISSION_LIMITS: SubmissionLimits = {
  handshakeMs: 20_000,
  authMs: 60_000,
  dataMs: 600_000,
  sessionMs: 3_600_000,
  idleMs: 300_000,
  authFailureDelayMs: 500,
  isLocal: isLoopback,
};
