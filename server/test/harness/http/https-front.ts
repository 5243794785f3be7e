import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tlsFixtures } from '../smtp/tls-fixtures.ts';

/** A reverse proxy that ends TLS for a server, as in production. */
export interface HttpsFront extends AsyncDisposable {
  readonly url: string;
  /** Where requests go. */
  target: string;
}

export async function startHttpsFront(): Promise<HttpsFront> {
  const front = { target: '' };
  const server = https.createServer(tlsFixtures.good, (request, response) => {
    const { method = 'GET', url, headers } = request;
    const forwarded = http.request(new URL(url ?? '/', front.target), { method, headers });
    forwarded.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  return {
    url,
    get target() {
      return front.target;
    },
    set target(target) {
      front.target = target;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
