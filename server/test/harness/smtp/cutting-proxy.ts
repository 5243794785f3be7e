import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** What the proxy passes on before it cuts a connection. */
export interface Cut {
  side: 'client' | 'server';
  /** Bytes of that side; the next one is lost with everything behind it. */
  bytes: number;
}

/**
 * A TCP proxy on loopback that loses its connections at a given byte. After a cut on the client's side,
 * the server sees the client close, and its last replies still reach the client.
 */
export async function startCuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const proxy = new CuttingProxy(serverPort);
  await proxy.listen();
  return proxy;
}

export class CuttingProxy {
  readonly host = '127.0.0.1';
  /** Applies to connections that are opened from now on. */
  cut: Cut | undefined;
  /** Bytes of the latest connection so far. */
  clientBytes = 0;
  serverBytes = 0;
  readonly #serverPort: number;
  readonly #listener = net.createServer({ allowHalfOpen: true }, (socket) => this.#connect(socket));

  constructor(serverPort: number) {
    this.#serverPort = serverPort;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  async listen(): Promise<void> {
    await once(this.#listener.listen(0, this.host), 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #connect(client: Socket): void {
    const { cut } = this;
    const server = net.connect({ port: this.#serverPort, allowHalfOpen: true });
    const closeBoth = () => {
      client.destroy();
      server.destroy();
    };
    this.clientBytes = 0;
    this.serverBytes = 0;
    client.on('data', (bytes) => {
      const before = this.clientBytes;
      this.clientBytes += bytes.length;
      const isCut = cut?.side === 'client' && this.clientBytes > cut.bytes;
      if (!isCut) server.write(bytes);
      else if (before <= cut.bytes) server.end(bytes.subarray(0, cut.bytes - before));
    });
    server.on('data', (bytes) => {
      const before = this.serverBytes;
      this.serverBytes += bytes.length;
      const isCut = cut?.side === 'server' && this.serverBytes > cut.bytes;
      if (!isCut) client.write(bytes);
      else if (before <= cut.bytes) {
        client.end(bytes.subarray(0, cut.bytes - before));
        server.end();
      }
    });
    client.on('end', () => server.end()).on('error', closeBoth);
    server.on('end', () => client.end()).on('error', closeBoth);
    server.on('close', () => client.destroy());
  }
}
