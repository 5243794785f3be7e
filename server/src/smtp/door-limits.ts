import { isLoopback } from '../accounts/people/source-network.ts';
import type { SessionTimes } from './session.ts';

/** How long a client may take, and who counts as near. */
export interface SmtpDoorLimits extends SessionTimes {
  /** From the connection to the greeting, where something comes before it. */
  arrivalMs: number;
  /** Until AUTH has succeeded. */
  loginMs: number;
  /** Without a word from the client, between commands (RFC 5321 4.5.3.2.7). */
  idleMs: number;
  /** How long the first wrong key of a source waits for its answer. */
  wrongKeyMs: number;
  /** Whether a connection comes from this very machine: tests say so. */
  isLocal: (ip: string) => boolean;
}

export const DOOR_LIMITS: SmtpDoorLimits = {
  arrivalMs: 20_000,
  loginMs: 60_000,
  dataMs: 600_000,
  lifeMs: 3_600_000,
  idleMs: 300_000,
  wrongKeyMs: 500,
  isLocal: isLoopback,
};
