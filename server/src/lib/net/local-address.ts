import { createServer } from 'node:net';

/** Whether an address is one of this machine's: only what the system lets us bind to can be left from. */
export function isLocalAddress(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(true)));
  });
}
