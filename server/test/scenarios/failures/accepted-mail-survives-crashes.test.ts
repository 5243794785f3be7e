import { test } from 'vitest';
import { expectProof } from '../../prove/expect-proof.ts';

/**
 * One server with its embedded PostgreSQL. The server, the postmaster and single backends are killed at
 * random moments. Every accepted message arrives or has the outcome that the receiver chose, and none
 * arrives twice except those that a kill interrupted between the final dot and the commit. A request
 * with an Idempotency-Key takes effect once. `npm run prove -- --setup single` is the long form.
 */

test(
  'kills of the server and its database lose no accepted message',
  {
    timeout: 1_800_000,
  },
  () =>
    expectProof({
      setup: 'single',
      nodes: 1,
      clients: 8,
      failures: 3,
      kinds: ['node-kill', 'postmaster-kill', 'backend-kill'],
      sendPauseMs: 30,
      pauseMaxMs: 800,
      holdMaxMs: 0,
    }),
);
