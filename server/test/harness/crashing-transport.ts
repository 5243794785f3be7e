import type { Transport } from '../../src/delivery/delivery.ts';

/** Simulates a bug that no attempt catches: the delivery thread crashes on its first live message. */
export function wrapTransport(route: Transport): Transport {
  route.attempt = () => {
    setImmediate(() => {
      throw new Error('A bug for this test.');
    });
    return new Promise(() => {});
  };
  return route;
}
