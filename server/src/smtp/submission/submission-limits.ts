import { isLoopback } from '../../lib/net/client-network.ts';
import type { SessionTimeouts } from '../smtp-session.ts';

/** How long a client may take, and who counts as near. */
export interface SubmissionLimits extends SessionTimeouts {
  /** From the connection to the greeting, where something comes before it. */
  handshakeMs: number;
  /** Until AUTH has succeeded. */
  authMs: number;
  /** Without a word from the client, between commands (RFC 5321 4.5.3.2.7). */
  idleMs: number;
  /** How long the first wrong key of a source waits for its answer. */
  authFailureDelayMs: number;
  /** Whether a connection comes from this very machine: tests say so. */
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
