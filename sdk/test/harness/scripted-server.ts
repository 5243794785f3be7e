import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A server on loopback that responds as scripted, step by step; the last step repeats. */
export interface ScriptedServer extends AsyncDisposable {
  url: string;
  requests: ReceivedRequest[];
}

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

/**
 * `drop`: closes the connection instead of responding. `hang`: never responds. `unfinished`: closes
 * the connection in the middle of the body. `forward`: another server responds; `lose` drops its
 * response once it is complete.
 */
export type Step =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | { forward: string; lose?: boolean }
  | 'drop'
  | 'hang'
  | 'unfinished';

export async function startScriptedServer(...script: Step[]): Promise<ScriptedServer> {
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body: Buffer.concat(chunks).toString() };
    requests.push(received);
    const step = script[Math.min(requests.length, script.length) - 1] ?? 'drop';
    await perform(step, received, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function perform(
  step: Step,
  request: ReceivedRequest,
  response: http.ServerResponse,
): Promise<void> {
  if (step === 'hang') return;
  if (step === 'drop') response.destroy();
  else if (step === 'unfinished') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"data":', () => response.destroy());
  } else if ('forward' in step) await forward(step, request, response);
  else {
    const isText = typeof step.body === 'string';
    const type = isText ? 'text/html' : 'application/json';
    response.writeHead(step.status, { 'content-type': type, ...step.headers });
    response.end(isText ? step.body : step.body === undefined ? '' : JSON.stringify(step.body));
  }
}

async function forward(
  step: { forward: string; lose?: boolean },
  { method, path, headers, body }: ReceivedRequest,
  response: http.ServerResponse,
): Promise<void> {
  const forwardedHeaders = ['authorization', 'content-type', 'idempotency-key'].flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
  );
  const upstream = await fetch(`${step.forward}${path}`, {
    method,
    headers: forwardedHeaders,
    ...(body === '' ? {} : { body }),
  });
  const text = await upstream.text();
  if (step.lose) response.destroy();
  else {
    response.writeHead(upstream.status, Object.fromEntries(returnedHeaders(upstream.headers)));
    response.end(text);
  }
}

function returnedHeaders(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => /^(content-type|idempotent-replayed)$/.test(name));
}
