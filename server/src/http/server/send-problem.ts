import { maxHeaderSize } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { WorkspaceMovingError } from '../../accounts/workspace-moving.ts';
import { isWriteFenced } from '../../db/connections/database-errors.ts';
import type { StorageOutage } from '../../db/connections/storage-outage.ts';
import { newId } from '../../lib/ids.ts';
import type { Log } from '../../lib/log.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { RequestLog } from '../../logs/request-log.ts';
import { MISDIRECTED_HEADER } from '../pages/cell-lookup.ts';
import { prefersHtml, sendNotFoundPage } from '../pages/not-found.ts';
import {
  isInternalError,
  type ProblemDetails,
  pathNotFound,
  toProblemResponse,
} from '../problems/problem-details.ts';
import type { ApiSurface } from './api-surface.ts';
import { logRequest, recordRequest } from './log-request.ts';

/**
 * Answers requests that fail: with the problem of a rejected request, in the format of its API, or
 * with 500 and an entry in the server's log.
 */

export interface ProblemDependencies {
  /** The first one is our own API. It also answers for paths that belong to no surface. */
  surfaces: readonly [ApiSurface, ...ApiSurface[]];
  clock: Clock;
  log: Log;
  requestLog: RequestLog;
  outage: StorageOutage;
  baseUrl: string;
  /** Whether a router, which may look for a key elsewhere, is in front of the server. */
  hasRouter: boolean;
}

export function sendProblem(
  deps: ProblemDependencies,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const error = translateError(thrown, request);
  const { problem, headers } = toProblemResponse(error, request.id, deps.baseUrl);
  if (isInternalError(error)) {
    deps.log.error(
      { err: error, request_id: request.id, route: request.routeOptions?.url },
      'request failed',
    );
  } else if (problem.code === 'storage_unavailable' && !isMoving(error)) {
    deps.outage.refused(error, { request_id: request.id });
  }
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  const isElsewhere =
    problem.code === 'invalid_api_key' ||
    problem.code === 'workspace_moved' ||
    error instanceof WorkspaceMovingError;
  if (deps.hasRouter && isElsewhere) reply.header(MISDIRECTED_HEADER, '1');
  // The rest of an unread body must not be parsed as the next request.
  if (problem.status === 413 || problem.status === 408) reply.header('connection', 'close');
  const surface = surfaceOf(deps, request.url);
  const rendered = surface.renderProblem({ problem, headers }, request.url);
  void reply
    .code(rendered.status)
    .headers(rendered.headers)
    .type(rendered.mediaType)
    .send(rendered.body);
  recordRequest(deps.requestLog, request, reply, problem);
  if (request.operationId === null) void logUnknownPath(deps, surface, request, reply, problem);
}

/** Not an outage of the database. */
function isMoving(error: unknown): boolean {
  return error instanceof WorkspaceMovingError || isWriteFenced(error);
}

/** Translates Fastify's errors into ours. */
function translateError(error: unknown, { raw }: FastifyRequest): unknown {
  const code = (error as { code?: unknown }).code;
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new RefusedError('unsupported_media_type', 'The body must be application/json.');
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      // Fastify requires one for QUERY, which no operation accepts.
      return pathNotFound();
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      // Database connections fail with the same codes, which is not the client's error.
      if (raw.complete || !raw.destroyed) return error;
      return new RefusedError(
        'malformed_request',
        'The connection closed before the body was complete.',
      );
    default:
      return error;
  }
}

/**
 * A path or method without an operation is answered without authentication. Its sender looks for the
 * typo in the request log, so the caller is found afterwards.
 */
async function logUnknownPath(
  { requestLog }: ProblemDependencies,
  surface: ApiSurface,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: ProblemDetails,
): Promise<void> {
  const isSigned = surface.beforeSignedBody !== undefined;
  if (isSigned || !isBelow(request.url, surface.prefix)) return;
  try {
    logRequest(requestLog, await surface.authenticate(request), request, reply, 0, problem);
  } catch {
    // No valid key, so the request belongs to no workspace.
  }
}

export function surfaceOf(
  { surfaces }: Pick<ProblemDependencies, 'surfaces'>,
  url: string,
): ApiSurface {
  return surfaces.find(({ prefix }) => isBelow(url, prefix)) ?? surfaces[0];
}

function isBelow(url: string, prefix: string): boolean {
  return url.startsWith(prefix) && ['', '/', '?'].includes(url.charAt(prefix.length));
}

/** A node without the API role serves no pages either. */
export function sendNotFound(
  deps: ProblemDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (deps.surfaces[0].operations.length > 0 && prefersHtml(request))
    sendNotFoundPage(request, reply);
  else sendProblem(deps, noSuchPath(surfaceOf(deps, request.url), request), request, reply);
}

function noSuchPath(
  surface: ApiSurface,
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
): RefusedError {
  const reason = surface.notOffered?.(method, url);
  if (reason !== undefined) return new RefusedError('not_found', reason);
  return isBelow(url, surface.prefix) ? pathNotFound() : outsideApi(surface.prefix);
}

/** Guides name operations without the prefix, and other providers have other prefixes. */
function outsideApi(prefix: string): RefusedError {
  return new RefusedError('not_found', `No such path. Paths of the API begin with ${prefix}.`, {
    fix: `Send the request to {app}${prefix}/…. {app}/docs lists all paths.`,
  });
}

/** Errors of Fastify's router, before a route is found. */
export function sendFrameworkError(
  deps: ProblemDependencies,
  error: { code?: unknown },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const isMalformed = error.code === 'FST_ERR_BAD_URL';
  const isApi = deps.surfaces.some(({ prefix }) => request.url.startsWith(`${prefix}/`));
  if (isMalformed && isApi) sendProblem(deps, malformedPath(), request, reply);
  // Or it is longer than any route.
  else if (isMalformed || error.code === 'FST_ERR_MAX_PARAM_LENGTH')
    sendNotFound(deps, request, reply);
  else sendProblem(deps, error, request, reply);
}

function malformedPath(): RefusedError {
  const detail = 'The path must be UTF-8, with its bytes encoded as %XX and % itself as %25.';
  return new RefusedError('malformed_request', detail);
}

/** Errors before there is a request are answered directly on the socket. */
export function handleClientError(deps: ProblemDependencies) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    const refused = late
      ? new RefusedError('request_timeout', 'The request was not complete before the timeout.')
      : new RefusedError('malformed_request', describeParseError(error));
    const requestId = newId('req', deps.clock.now());
    const { problem } = toProblemResponse(refused, requestId, deps.baseUrl);
    const body = JSON.stringify(problem);
    socket.end(
      `HTTP/1.1 ${problem.status} ${late ? 'Request Timeout' : 'Bad Request'}\r\n` +
        `Content-Type: application/problem+json; charset=utf-8\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
}

/** What a line break in a value causes, depending on its kind. */
const HEADER_ERRORS: ReadonlySet<string> = new Set([
  'HPE_CR_EXPECTED',
  'HPE_LF_EXPECTED',
  'HPE_INVALID_HEADER_TOKEN',
]);

function describeParseError({ code }: NodeJS.ErrnoException): string {
  if (code === 'HPE_INVALID_URL') {
    return 'The URL is not valid: encode spaces and characters beyond ASCII as the %XX of their UTF-8 bytes.';
  }
  if (code !== undefined && HEADER_ERRORS.has(code)) {
    return 'A header contains a character that is not allowed, such as a line break. Check the API key.';
  }
  if (code !== 'HPE_HEADER_OVERFLOW') return 'The request is not valid HTTP/1.1.';
  return `The URL and the headers have more than ${maxHeaderSize} bytes in total.`;
}
