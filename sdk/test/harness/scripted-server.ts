import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A server on loopback that answers as its script says, step by step; the last step stays. */
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
 * `drop`: the connection ends instead of an answer. `hang`: nothing comes. `unfinished`: the answer
 * breaks off in its body. `forward`: another server answers; `lose` drops its answer when it is whole.
 */
export type Step =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | { forward: string; lose?: boolean }
  | 'drop'
  | 'hang'
  | 'unfinished';

export async function startScriptedServer(...script: Step[]): Promise<ScriptedServer> {
  const asked: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
    asked.push(one);
    const step = script[Math.min(asked.length, script.length) - 1] ?? 'drop';
    await take(step, one, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function take(step: Step, asked: ReceivedRequest, response: http.ServerResponse): Promise<void> {
  if (step === 'hang') return;
  if (step === 'drop') response.destroy();
  else if (step === 'unfinished') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"data":', () => response.destroy());
  } else if ('forward' in step) await forward(step, asked, response);
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
  const passed = ['authorization', 'content-type', 'idempotency-key'].flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
  );
  const answer = await fetch(`${step.forward}${path}`, {
    method,
    headers: passed,
    ...(body === '' ? {} : { body }),
  });
  const text = await answer.text();
  if (step.lose) response.destroy();
  else {
    response.writeHead(answer.status, Object.fromEntries(passedBack(answer.headers)));
    response.end(text);
  }
}

function passedBack(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => /^(content-type|idempotent-replayed)$/.test(name));
}
