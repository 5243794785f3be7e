import { test } from 'vitest';
import { expectProof } from '../../prove/expect-proof.ts';

/**
 * Two nodes that share a database. Nodes are killed, or suspended, some of them for so long that the
 * other node takes over their leases; PostgreSQL is killed; the clock of a node jumps. What a resumed
 * node still held is not sent twice. `npm run prove` is the long form.
 */

test('killed and suspended nodes lose no accepted message', { timeout: 1_800_000 }, () =>
  expectProof({
    setup: 'nodes',
    nodes: 2,
    clients: 6,
    failures: 4,
    kinds: ['node-kill', 'node-freeze', 'postmaster-kill', 'clock-jump'],
    sendPauseMs: 30,
    pauseMaxMs: 800,
    holdMaxMs: 6_000,
  }),
);
