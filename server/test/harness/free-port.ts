import { randomInt } from 'node:crypto';
import net from 'node:net';

/**
 * Below the range from which systems choose ports for connections and for listeners on port 0: nothing
 * else takes such a port before the test uses it.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** Returns a loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
