import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { Registry } from 'prom-client';
import type { CellAddress } from '../config/cell-settings.ts';
import { addCollectedMetric } from '../http/observability/http-metrics.ts';
import { CELL_INBOUND_MAIL_PATH } from '../http/pages/cell-inbound-mail.ts';
import { CELL_LOOKUP_PATH, MISDIRECTED_HEADER } from '../http/pages/cell-lookup.ts';
import { CELL_REPORTS_PATH } from '../http/pages/cell-reports.ts';
import {
  pathNotFound,
  problemDocument,
  toProblemResponse,
} from '../http/problems/problem-details.ts';
import { acceptAnyExpectation, checkHeaders } from '../http/server/check-headers.ts';
import type { ListeningServer } from '../http/server/http-listener.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { MemoryBudget } from '../lib/memory/memory-budget.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { CellDirectory, Location } from './cell-directory.ts';
import {
  CellConnections,
  CellUnreachableError,
  ConnectionLostError,
  endToEndHeaders,
} from './forward-request.ts';
import { type RoutingSubject, subjectOf } from './routing-subject.ts';

/**
 * Forwards each request to the cell of its API key, so that clients keep URL and key when their
 * workspace moves. Requests without a key go to the cell that their link or host name names, or to the
 * first one. A cell that does not hold a key refuses it without effect; then the key is looked up again
 * and the request sent once more, if its body is still there.
 */
export interface RouterParts {
  cells: readonly CellAddress[];
  directory: CellDirectory;
  registry: Registry;
  baseUrl: string;
  requestTimeoutMs: number;
  clock: Clock;
  log: Log;
  /** Whether new requests are welcome. */
  isReady: () => boolean;
}

/** Most requests are smaller. Larger ones are piped, and cannot be repeated. */
const KEPT_BODY_BYTES_MAX = 256 * 1024;
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

export function createRouterServer(parts: RouterParts): ListeningServer {
  const router = new Router(parts);
  const server = http.createServer(
    {
      requestTimeout: parts.requestTimeoutMs,
      // Node exchanges the two if the headers may take longer than the whole request.
      headersTimeout: Math.min(15_000, parts.requestTimeoutMs),
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 2_000,
      // Node's own response has no problem document.
      requireHostHeader: false,
    },
    (request, response) => void router.handle(request, response),
  );
  acceptAnyExpectation(server);
  return {
    server,
    async listen({ host, port }) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host, port }, resolve);
      });
      const { address, family, port: bound } = server.address() as AddressInfo;
      return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
    },
    async close() {
      await new Promise((resolve) => server.close(resolve));
      router.close();
    },
  };
}

class Router {
  readonly #parts: RouterParts;
  readonly #connections = new CellConnections();
  readonly #keptBodies = new MemoryBudget(KEPT_BYTES_MAX);
  readonly #responses = new Map<string, { cell: string; status: number; count: number }>();
  #repeated = 0;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.#addMetrics();
  }

  close(): void {
    this.#connections.close();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const kept = this.#keptBodies.reserve(request.socket.remoteAddress ?? '');
    const gone = new AbortController();
    response.once('close', () => {
      kept.release();
      if (!response.writableFinished) gone.abort();
    });
    try {
      checkHeaders(request, response);
      const { pathname } = parseTarget(request.url);
      if (await this.#answerOwn(pathname, response)) return;
      const body = await readSmallBody(request, kept.tryGrow);
      const { cell, answer } = await this.#forward(request, body, gone.signal);
      this.#count(cell, answer.statusCode ?? 0);
      relay(answer, response);
    } catch (error) {
      if (!gone.signal.aborted) this.#refuse(error, response);
    }
  }

  async #forward(
    request: IncomingMessage,
    body: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<{ cell: CellAddress; answer: IncomingMessage }> {
    const subject = subjectOf(request.headers, request.url ?? '');
    const cell = await this.#choose(subject, request);
    const send = (to: CellAddress) => this.#connections.send(to, request, body, signal);
    let answer: IncomingMessage | undefined;
    try {
      answer = await send(cell);
      if (!subject || answer.headers[MISDIRECTED_HEADER] === undefined) return { cell, answer };
    } catch (error) {
      if (!(error instanceof CellUnreachableError)) throw error;
      this.#parts.log.debug({ cell: cell.name, err: error }, 'cell unreachable');
    }
    const again = subject && (await this.#parts.directory.locateAgain(subject));
    if (again?.state !== 'here' || again.cell === cell) {
      if (answer) return { cell, answer };
      throw unavailable();
    }
    answer?.destroy();
    // The part that was sent is lost. The client has it, and finds the new cell with its next request.
    if (!body) throw unavailable();
    this.#repeated += 1;
    return { cell: again.cell, answer: await send(again.cell) };
  }

  async #choose(subject: RoutingSubject | undefined, request: IncomingMessage) {
    const { directory } = this.#parts;
    const located: Location = subject ? await directory.locate(subject) : { state: 'absent' };
    if (located.state === 'here') return located.cell;
    // A tracked link contains its destination, so any cell can redirect.
    if (located.state === 'unavailable' && subject?.kind !== 'workspace') throw unavailable();
    return this.#cellOfHost(request.headers.host ?? '');
  }

  #cellOfHost(host: string): CellAddress {
    const { cells } = this.#parts;
    const [label = ''] = host.toLowerCase().split('.');
    return cells.find(({ name }) => name === label) ?? (cells[0] as CellAddress);
  }

  /** The paths that are about the router itself. */
  async #answerOwn(path: string, response: ServerResponse): Promise<boolean> {
    const { registry, isReady } = this.#parts;
    switch (path) {
      case '/healthz':
        sendText(response, 200, 'application/json', '{"status":"ok"}');
        return true;
      case '/readyz':
        sendText(response, isReady() ? 200 : 503, 'application/json', `{"ready":${isReady()}}`);
        return true;
      case '/metrics':
        sendText(response, 200, registry.contentType, await registry.metrics());
        return true;
      case CELL_LOOKUP_PATH:
      case CELL_REPORTS_PATH:
      case CELL_INBOUND_MAIL_PATH:
        throw pathNotFound();
      default:
        return false;
    }
  }

  #refuse(error: unknown, response: ServerResponse): void {
    const { log, clock, baseUrl } = this.#parts;
    const id = newId('req', clock.now());
    if (!(error instanceof RefusedError)) {
      log.warn({ err: error, request_id: id }, 'request not forwarded');
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const refused = error instanceof ConnectionLostError ? connectionLost() : error;
    const { status, headers, mediaType, body } = problemDocument(
      toProblemResponse(refused, id, baseUrl),
    );
    this.#count(undefined, status);
    // The connection stays open: Node discards the rest of the body, so that the client, which may read
    // nothing before it has sent all of it, gets the response.
    response.writeHead(status, {
      ...headers,
      'content-type': mediaType,
      'content-length': Buffer.byteLength(body),
      'x-request-id': id,
    });
    response.end(body);
  }

  #count(cell: CellAddress | undefined, status: number): void {
    const name = cell?.name ?? 'none';
    const key = `${name} ${status}`;
    const entry = this.#responses.get(key) ?? { cell: name, status, count: 0 };
    entry.count += 1;
    this.#responses.set(key, entry);
  }

  #addMetrics(): void {
    const { registry, directory } = this.#parts;
    addCollectedMetric(registry, {
      name: 'postrider_router_responses_total',
      help: 'Responses by cell and status. Those without a cell are of the router.',
      type: 'counter',
      read: () =>
        [...this.#responses.values()].map(({ cell, status, count }) => ({
          value: count,
          labels: { cell, status: String(status) },
        })),
    });
    addCollectedMetric(registry, {
      name: 'postrider_router_lookups_total',
      help: 'Lookups of keys and workspaces in all cells, by result.',
      type: 'counter',
      read: () =>
        Object.entries(directory.lookups).map(([result, value]) => ({ value, labels: { result } })),
    });
    addCollectedMetric(registry, {
      name: 'postrider_router_repeated_requests_total',
      help: 'Requests that were sent to a second cell, because the first did not hold the key.',
      type: 'counter',
      read: () => this.#repeated,
    });
  }
}

/** Only paths: an absolute URL would be a request to a proxy. */
function parseTarget(target = ''): { pathname: string } {
  if (!target.startsWith('/')) {
    throw new RefusedError('malformed_request', 'The request target must be a path.');
  }
  return { pathname: target.split('?')[0] as string };
}

/** Undefined if the body is large or of unknown length; then it has not been touched. */
async function readSmallBody(
  request: IncomingMessage,
  tryKeep: (bytes: number) => boolean,
): Promise<Buffer | undefined> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding !== undefined) return undefined;
  const bytes = Number(length ?? 0);
  if (bytes === 0) return EMPTY;
  if (bytes > KEPT_BODY_BYTES_MAX || !tryKeep(bytes)) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const EMPTY = Buffer.alloc(0);

function relay(answer: IncomingMessage, response: ServerResponse): void {
  const { [MISDIRECTED_HEADER]: _marker, ...headers } = endToEndHeaders(answer.headers);
  response.writeHead(answer.statusCode ?? 502, headers);
  // Events are streamed: the client must not wait for the first one to see that it is connected.
  response.flushHeaders();
  // Destroys both if either ends early, which is all that is left to do.
  pipeline(answer, response, () => {});
}

function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function unavailable(): RefusedError {
  const detail =
    'The server of this workspace cannot be reached, or the workspace is being moved. Nothing was accepted.';
  return new RefusedError('storage_unavailable', detail, { retryAfterSeconds: 2 });
}

function connectionLost(): RefusedError {
  const detail =
    'The server of this workspace closed the connection before it responded. The request may have taken effect.';
  return new RefusedError('internal_error', detail);
}
