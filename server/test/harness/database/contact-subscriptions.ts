import { ContactSubscriptions } from '../../../src/contacts/contact-subscriptions.ts';
import type { Pool } from '../../../src/db/connections/pool.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { StreamSuppressions } from '../../../src/suppressions/stream-suppressions.ts';

/** The subscriptions of contacts in a workspace without streams, for tests of other parts. */
export function subscriptionsWithoutStreams(pool: Pool): ContactSubscriptions {
  const clock = systemClock;
  return new ContactSubscriptions({
    clock,
    suppressions: new StreamSuppressions({
      pool,
      clock,
      hash: (_workspace, _mode, key) => `#${key}`,
    }),
    streams: () => new Map(),
  });
}
