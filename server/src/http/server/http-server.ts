import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import type { Log } from '../../lib/log.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Idempotency } from '../../messages/accept/idempotency.ts';
import type { HttpMetrics } from '../observability/http-metrics.ts';
import type { Operation, Reply, Request } from '../operation.ts';
import { asksForAPage, sendNotFoundPage } from '../pages/not-found.ts';
import { isOurFault, nothingHere, problemOf } from '../problems/problem-details.ts';
import {
  bodyValidator,
  isOptionalBody,
  queryValidator,
  type Validator,
} from '../validation/schema-validator.ts';
import { type AdmissionParts, admit, admitAgain } from './authorize-request.ts';
import { parseJsonBody } from './json-body.ts';
import { readBody } from './read-body.ts';
import { AskedRequest } from './request-context.ts';

/**
 * The HTTP door. It turns requests into calls of operations and what comes back, or is thrown, into
 * answers. The order is fixed: path and method, key, scope, rate, and only then is the body read.
 */

export interface HttpParts extends AdmissionParts {
  operations: readonly Operation[];
  idempotency: Idempotency;
  clock: Clock;
  log: Log;
  metrics: HttpMetrics;
  bodyBytesMax: number;
  trustProxy: boolean | string[];
  requestTimeoutMs: number;
  /** An operation that may have changed something went well. */
  changed: () => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on paths that are no operation's. */
    count: ReturnType<HttpMetrics['operation']> | null;
    startedAtMs: number;
  }
}

export const API_PREFIX = '/api/v1';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export function createHttpServer(parts: HttpParts): FastifyInstance {
  const server = Fastify({
    logger: false,
    trustProxy: parts.trustProxy,
    genReqId: () => newId('req', parts.clock.now()),
    requestTimeout: parts.requestTimeoutMs,
    keepAliveTimeout: 75_000,
    // Who is connected is served until the door is shut, and Fastify's refusal is no problem document.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 1024 },
    frameworkErrors: (error, request, reply) =>
      isNoAddress(error)
        ? answerNothing(parts, request, reply)
        : answerError(parts, error, request, reply),
    clientErrorHandler: answerBrokenClient(parts),
    http: { headersTimeout: 15_000, connectionsCheckingInterval: 2_000 },
  });
  server.decorateRequest('caller', null);
  server.decorateRequest('signedIn', null);
  server.decorateRequest('count', null);
  server.decorateRequest('startedAtMs', 0);
  readBodies(server, parts.bodyBytesMax);
  server.setErrorHandler((error, request, reply) => answerError(parts, error, request, reply));
  refuseUnknownPaths(server, parts);
  for (const operation of parts.operations) addOperation(server, parts, operation);
  refuseOtherMethods(server, parts);
  return server;
}

/** In a room of its own without parsers: whatever is sent to where nothing is, nobody reads it. */
function refuseUnknownPaths(server: FastifyInstance, parts: HttpParts): void {
  void server.register(async (room) => {
    room.removeAllContentTypeParsers();
    room.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
    room.setNotFoundHandler((request, reply) => answerNothing(parts, request, reply));
  });
}

/** A node that answers no API has no pages either. */
function answerNothing(parts: HttpParts, request: FastifyRequest, reply: FastifyReply): void {
  if (parts.operations.length > 0 && asksForAPage(request)) sendNotFoundPage(request, reply);
  else answerError(parts, nothingHere(), request, reply);
}

/** Whoever signs in sends a few words. Nobody who is not known yet has us read and parse more. */
const STRANGERS_BODY_BYTES_MAX = 64 * 1024;

function readBodies(server: FastifyInstance, bytesMax: number): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', (_request, payload, done) => {
    readBody(payload, bytesMax, (error, body) => {
      if (error) {
        done(error);
        return;
      }
      try {
        // Many clients name the type with every request, whether it has a body or not.
        done(null, body.length === 0 ? undefined : parseJsonBody(body));
      } catch (refusal) {
        done(refusal as Error);
      }
    });
  });
}

function addOperation(server: FastifyInstance, parts: HttpParts, operation: Operation): void {
  const { rules } = operation;
  const checks = validatorsOf(operation);
  const path = API_PREFIX + rules.path.replaceAll(/\{(\w+)\}/g, ':$1');
  const count = parts.metrics.operation(rules.id);
  // A body in another format flows to the operation unread, in a room of its own for its parsers. One
  // that nobody asked for is not looked at, whatever it is: Node lets it flow away after the answer.
  void server.register(async (room) => {
    if (rules.rawBody || !rules.body) {
      room.removeAllContentTypeParsers();
      room.addContentTypeParser('*', (_request, payload, done) =>
        done(null, rules.rawBody ? payload : undefined),
      );
    } else if (rules.scope === 'public') {
      readBodies(room, Math.min(STRANGERS_BODY_BYTES_MAX, parts.bodyBytesMax));
    }
    room.route({
      method: rules.method,
      url: path,
      exposeHeadRoute: takesHead(rules),
      onRequest(request, reply, done) {
        request.count = count;
        request.startedAtMs = performance.now();
        // Fastify refuses a type that it cannot read before any parser is asked.
        if (!rules.body) delete request.headers['content-type'];
        admit(parts, operation, request, reply, done);
      },
      // Nothing is returned: Fastify would wait for the reply as for a promise, at every request.
      handler: (request, reply) => void answer(parts, operation, checks, request, reply),
    });
  });
}

type Rules = Operation['rules'];

function takesHead({ method, handsOut }: Rules): boolean {
  return method === 'GET' && !handsOut;
}

interface Checks {
  query: Validator;
  body: Validator | undefined;
  bodyOptional: boolean;
}

const NO_QUERY = { type: 'object', additionalProperties: false, properties: {} };

function validatorsOf({ rules }: Operation): Checks {
  return {
    query: queryValidator(rules.query ?? NO_QUERY, rules.queryReads),
    body: rules.body && bodyValidator(rules.checkedBody ?? rules.body, rules.moreFaults),
    bodyOptional: rules.body !== undefined && isOptionalBody(rules.body),
  };
}

async function answer(
  parts: HttpParts,
  operation: Operation,
  checks: Checks,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  try {
    // A raw body is still to come: the operation asks when it has read it.
    const { rules } = operation;
    const again = rules.rawBody ? undefined : admitAgain(parts, rules, request, reply);
    if (again) await again;
    send(reply, await run(parts, operation, checks, request, reply), operation.rules.location);
    counted(request, reply);
    if (operation.rules.method !== 'GET') parts.changed();
  } catch (error) {
    reply.send(error);
  }
}

/** By us and not by Fastify's hook, which would listen to the end of every answer. */
function counted(request: FastifyRequest, reply: FastifyReply): void {
  request.count?.(reply.statusCode, performance.now() - request.startedAtMs);
}

function run(
  parts: HttpParts,
  operation: Operation,
  checks: Checks,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Reply> | Reply {
  const { rules } = operation;
  checks.query.check(request.query);
  if (rules.body && !rules.rawBody) {
    if (request.body === undefined && !checks.bodyOptional) {
      throw new RefusedError('malformed_json', 'The body is empty: it must be a JSON object.');
    }
    if (request.body === undefined) request.body = {};
    checks.body?.check(request.body, request.caller ?? undefined);
  }
  const asked = new AskedRequest(parts, rules, request, reply);
  if (asked.idempotency && !rules.keepsOwnIdempotency) {
    return runOnce(parts, operation, asked);
  }
  return operation.handle(asked);
}

async function runOnce(
  parts: HttpParts,
  operation: Operation,
  asked: Request<unknown, unknown, unknown>,
): Promise<Reply> {
  let first: Reply | undefined;
  const { response: answer, replayed } = await parts.idempotency.once(
    asked.idempotency as never,
    async () => {
      first = await operation.handle(asked);
      return { status: first.status, body: JSON.stringify(first.body ?? null) };
    },
  );
  if (first && !replayed) return first;
  return {
    status: answer.status,
    body: answer.body === 'null' ? undefined : answer.body,
    mediaType: 'application/json',
    headers: { 'idempotent-replayed': 'true' },
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';

function send(reply: FastifyReply, answer: Reply, location: Rules['location']): void {
  reply.code(answer.status);
  if (answer.headers) reply.headers(answer.headers);
  const { body, mediaType } = answer;
  if (location) reply.header('location', location(parsed(body)));
  if (body === undefined) {
    reply.send();
  } else if (mediaType !== undefined) {
    reply.type(mediaType).send(body);
  } else {
    reply.type(JSON_TYPE).send(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

/** What is repeated comes as it was stored. */
function parsed(body: unknown): never {
  return (typeof body === 'string' ? JSON.parse(body) : body) as never;
}

function answerError(
  parts: HttpParts,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const error = understood(thrown, request);
  const { problem, headers } = problemOf(error, request.id, parts.baseUrl);
  if (isOurFault(error)) {
    parts.log.error(
      { err: error, request_id: request.id, route: request.routeOptions?.url },
      'a request failed',
    );
  } else if (problem.code === 'storage_unavailable') {
    parts.log.warn({ err: error, request_id: request.id }, 'the database did not answer');
  }
  reply.header('x-request-id', request.id);
  // What is left of an unread body must not be taken for the next request.
  if (problem.status === 413 || problem.status === 408) reply.header('connection', 'close');
  void reply
    .code(problem.status)
    .headers(headers)
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(problem));
  counted(request, reply);
}

/** What is no address, or a longer one than any of ours. */
function isNoAddress(error: { code?: unknown }): boolean {
  return error.code === 'FST_ERR_BAD_URL' || error.code === 'FST_ERR_MAX_PARAM_LENGTH';
}

/** Fastify's own refusals in our words. */
function understood(error: unknown, { raw }: FastifyRequest): unknown {
  const code = (error as { code?: unknown }).code;
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new RefusedError(
        'unsupported_media_type',
        'The body must be sent as application/json.',
      );
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      // The database's connections break with the same codes, and that is not the caller's fault.
      if (raw.complete || !raw.destroyed) return error;
      return new RefusedError('malformed_request', 'The connection ended before the body did.');
    default:
      return error;
  }
}

/** What breaks before there is a request: answered by hand on the bare socket. */
function answerBrokenClient(parts: HttpParts) {
  return (error: NodeJS.ErrnoException, socket: import('node:net').Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    const refused = late
      ? new RefusedError('request_timeout', 'The request was not complete before the deadline.')
      : new RefusedError('malformed_request', 'This is not a request that HTTP/1.1 allows.');
    const requestId = newId('req', parts.clock.now());
    const { problem } = problemOf(refused, requestId, parts.baseUrl);
    const body = JSON.stringify(problem);
    socket.end(
      `HTTP/1.1 ${problem.status} ${late ? 'Request Timeout' : 'Bad Request'}\r\n` +
        `Content-Type: application/problem+json; charset=utf-8\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
}

function refuseOtherMethods(server: FastifyInstance, parts: HttpParts): void {
  const allowed = new Map<string, Set<string>>();
  for (const { rules } of parts.operations) {
    const path = API_PREFIX + rules.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const methods = allowed.get(path) ?? new Set();
    methods.add(rules.method);
    if (takesHead(rules)) methods.add('HEAD');
    allowed.set(path, methods);
  }
  for (const [url, methods] of allowed) {
    const refuse = (_request: FastifyRequest, reply: FastifyReply): void => {
      reply.header('allow', [...methods].join(', '));
      throw new RefusedError('method_not_allowed', `This path takes ${[...methods].join(', ')}.`);
    };
    server.route({
      method: METHODS.filter((method) => !methods.has(method)),
      url,
      // Before the body is read, and before anyone is asked who they are.
      onRequest: refuse,
      handler: refuse,
    });
  }
}
