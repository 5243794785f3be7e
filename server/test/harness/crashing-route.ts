import type { Transport } from '../../src/delivery/delivery.ts';

/** A bug that no attempt catches: the thread ends at its first live mail. */
export function around(route: Transport): Transport {
  route.attempt = () => {
    setImmediate(() => {
      throw new Error('A bug for this test.');
    });
    return new Promise(() => {});
  };
  return route;
}
