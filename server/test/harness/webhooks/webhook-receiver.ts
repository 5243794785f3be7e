import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** A scripted webhook receiver on loopback that records all requests in order. */
export interface ReceivedWebhook {
  /** webhook-id. */
  id: string;
  headers: Record<string, string>;
  body: string;
  path: string;
  atMs: number;
}

/**
 * `hang`: reads the request and never responds. `close`: closes the connection instead of responding.
 * `garbage`: responds with something that is not HTTP. `endless`: a 200 with an endless body.
 * `unfinished`: a 200 whose body starts and never continues.
 */
export type ScriptedResponse =
  | { status: number; body?: string; headers?: Record<string, string> }
  | 'hang'
  | 'close'
  | 'garbage'
  | 'endless'
  | 'unfinished';

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedWebhook[];
  /** Number of connections so far. */
  readonly connections: number;
  /** How many of them resumed a TLS session. */
  readonly resumedSessions: number;
  /** The response to the next requests; may be changed at any time. */
  answer: (request: ReceivedWebhook) => ScriptedResponse;
}

export interface ReceiverOptions {
  tls?: { key: string; cert: string };
  host?: string;
  answer?: (request: ReceivedWebhook) => ScriptedResponse;
}

export async function startWebhookReceiver(
  options: ReceiverOptions = {},
): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let resumedSessions = 0;
  const receiver = { answer: options.answer ?? ((): ScriptedResponse => ({ status: 204 })) };
  const server = options.tls ? https.createServer(options.tls, handle) : http.createServer(handle);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.isSessionReused()) resumedSessions += 1;
  });
  server.listen(0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  function handle(request: http.IncomingMessage, response: http.ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      const one: ReceivedWebhook = {
        id: headers['webhook-id'] ?? '',
        headers,
        body: Buffer.concat(chunks).toString(),
        path: request.url ?? '',
        atMs: Date.now(),
      };
      received.push(one);
      respond(receiver.answer(one), response, request.socket);
    });
  }

  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    port,
    received,
    get connections() {
      return connections;
    },
    get resumedSessions() {
      return resumedSessions;
    },
    get answer() {
      return receiver.answer;
    },
    set answer(answer) {
      receiver.answer = answer;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function respond(answer: ScriptedResponse, response: http.ServerResponse, socket: Socket): void {
  if (answer === 'hang') return;
  if (answer === 'close') {
    socket.destroy();
    return;
  }
  if (answer === 'garbage') {
    socket.end('this is not HTTP\r\n\r\n');
    return;
  }
  if (answer === 'unfinished') {
    response.writeHead(200);
    response.write('and then');
    return;
  }
  if (answer === 'endless') {
    response.writeHead(200);
    const piece = Buffer.alloc(16 * 1024, 'x');
    const pour = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', pour);
    pour();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}
