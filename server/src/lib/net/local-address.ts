import { createServer } from 'node:net';

/** Whether an address belongs to this machine: only then can a socket bind to it. */
export function isLocalAddress(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(true)));
  });
}
