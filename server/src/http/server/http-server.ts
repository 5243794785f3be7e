import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { newId } from '../../lib/ids.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { AuditLog } from '../../logs/audit-log.ts';
import type { Idempotency, IdempotencyRequest } from '../../messages/accept/idempotency.ts';
import type { HttpMetrics } from '../observability/http-metrics.ts';
import type { Operation, OperationResponse } from '../operation.ts';
import { parseQuery } from '../validation/query-string.ts';
import { AllowedMethods, routeOf, supportsHead } from './allowed-methods.ts';
import type { Route } from './api-surface.ts';
import { handleAudited, isAudited } from './audit-operation.ts';
import {
  type AuthorizationDependencies,
  authorizeRequest,
  reauthorizeRequest,
} from './authorize-request.ts';
import {
  addBodyParsers,
  addJsonBodyParser,
  type BodyLimits,
  bodyFormatOf,
  detachFormParameters,
} from './body-parsers.ts';
import { acceptAnyExpectation, checkHeaders } from './check-headers.ts';
import { recordRequest } from './log-request.ts';
import { type OperationValidators, validatorsOf } from './operation-validators.ts';
import type { ReceivedBody } from './read-body.ts';
import { RequestContext } from './request-context.ts';
import {
  handleClientError,
  type ProblemDependencies,
  sendFrameworkError,
  sendNotFound,
  sendProblem,
  surfaceOf,
} from './send-problem.ts';
import { authorizeSignedRequest } from './signed-request.ts';

/**
 * The HTTP server. It turns requests into calls of operations, and their results or errors into
 * responses. The order is fixed: path and method, authentication, scope, rate limit, and only
 * then the body.
 */

export interface HttpServerDependencies
  extends AuthorizationDependencies,
    BodyLimits,
    ProblemDependencies {
  idempotency: Idempotency;
  metrics: HttpMetrics;
  auditLog: AuditLog;
  trustProxy: boolean | string[];
  requestTimeoutMs: number;
  /** Called after an operation that may have changed data succeeded. */
  onChange: () => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on paths without an operation. */
    recordMetrics: ReturnType<HttpMetrics['operation']> | null;
    startedAtMs: number;
    /** Text in the JSON body that cannot be stored. */
    textErrors: readonly FieldError[] | null;
    /** The body that `request.body` is parsed from. */
    receivedBody: ReceivedBody | null;
    /** What the surface has read of the credential: see ApiSurface. */
    credential: unknown;
    /** The Content-Type of a form, with its parameters. */
    formType: string | null;
    /** Null on paths without an operation. */
    operationId: string | null;
    /** Whether the operation reads, checks or previews. */
    changesNothing: boolean;
    /** The public id of the message that the request sent. */
    messageId: string | null;
  }
}

export function createHttpServer(deps: HttpServerDependencies): FastifyInstance {
  const server = Fastify({
    logger: false,
    trustProxy: deps.trustProxy,
    genReqId: () => newId('req', deps.clock.now()),
    requestTimeout: deps.requestTimeoutMs,
    keepAliveTimeout: 75_000,
    // Open connections are served until the listener closes; Fastify's own 503 is not a problem
    // document.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: {
      ignoreTrailingSlash: false,
      maxParamLength: 1024,
      querystringParser: parseQuery,
    },
    frameworkErrors: (error, request, reply) => sendFrameworkError(deps, error, request, reply),
    clientErrorHandler: handleClientError(deps),
    http: {
      // Node exchanges the two if the headers may take longer than the whole request.
      headersTimeout: Math.min(15_000, deps.requestTimeoutMs),
      connectionsCheckingInterval: 2_000,
      // Node's own response has no problem document.
      requireHostHeader: false,
    },
  });
  acceptAnyExpectation(server.server);
  server.addHook('onRequest', ({ raw }, reply, done) => {
    checkHeaders(raw, reply.raw);
    done();
  });
  server.decorateRequest('caller', null);
  server.decorateRequest('signedIn', null);
  server.decorateRequest('operator', null);
  server.decorateRequest('recordMetrics', null);
  server.decorateRequest('startedAtMs', 0);
  server.decorateRequest('textErrors', null);
  server.decorateRequest('receivedBody', null);
  server.decorateRequest('credential', null);
  server.decorateRequest('formType', null);
  server.decorateRequest('operationId', null);
  server.decorateRequest('changesNothing', false);
  server.decorateRequest('messageId', null);
  addJsonBodyParser(server, deps, deps.bodyBytesMax);
  server.setErrorHandler((error, request, reply) => sendProblem(deps, error, request, reply));
  const allowed = new AllowedMethods(deps.surfaces);
  registerNotFoundHandler(server, deps, allowed);
  registerOperations(server, deps);
  rejectShadowedMethods(server, deps, allowed);
  return server;
}

/** Has its own scope without parsers, so that bodies sent to unknown paths are never read. */
function registerNotFoundHandler(
  server: FastifyInstance,
  deps: HttpServerDependencies,
  allowed: AllowedMethods,
): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
    scope.addHook('onRequest', (request, reply, done) => {
      const methods = allowed.of(request.url);
      if (methods) rejectMethod(deps, request, reply, methods);
      done();
    });
    scope.setNotFoundHandler((request, reply) => sendNotFound(deps, request, reply));
  });
}

function rejectMethod(
  deps: HttpServerDependencies,
  { method, url }: FastifyRequest,
  reply: FastifyReply,
  allowed: readonly string[],
): never {
  const list = allowed.join(', ');
  reply.header('allow', list);
  const reason = surfaceOf(deps, url).notOffered?.(method, url);
  const detail = `This path accepts ${list}.`;
  throw new RefusedError('method_not_allowed', reason ? `${detail} ${reason}` : detail);
}

/** One scope for each body format, because a scope has its own parsers and takes time to load. */
function registerOperations(server: FastifyInstance, deps: HttpServerDependencies): void {
  const routes = deps.surfaces.flatMap((surface) =>
    surface.operations.map((operation) => ({ surface, operation })),
  );
  const byFormat = Map.groupBy(routes, ({ operation }) => bodyFormatOf(operation.spec));
  for (const [format, group] of byFormat) {
    void server.register(async (scope) => {
      addBodyParsers(scope, deps, format);
      for (const { surface, operation } of group) {
        const { spec } = operation;
        addRoute(scope, { deps, surface, spec, operation, checks: validatorsOf(operation) });
      }
    });
  }
}

function rejectShadowedMethods(
  server: FastifyInstance,
  deps: HttpServerDependencies,
  allowed: AllowedMethods,
): void {
  for (const { route, methods, allowed: accepted } of allowed.shadowed()) {
    const reject = (request: FastifyRequest, reply: FastifyReply): void =>
      rejectMethod(deps, request, reply, accepted);
    // Runs before authentication and before the body is read.
    server.route({ method: methods, url: route, onRequest: reject, handler: reject });
  }
}

interface ServerRoute extends Route<HttpServerDependencies> {
  operation: Operation;
  checks: OperationValidators;
}

function addRoute(scope: FastifyInstance, route: ServerRoute): void {
  const { deps, surface, spec } = route;
  const recordMetrics = deps.metrics.operation(spec.id);
  const changesNothing = spec.method === 'GET' || spec.notAudited === 'changes nothing';
  scope.route({
    method: spec.method,
    url: routeOf(surface, spec),
    exposeHeadRoute: supportsHead(spec),
    onRequest(request, reply, done) {
      request.recordMetrics = recordMetrics;
      request.operationId = spec.id;
      request.changesNothing = changesNothing;
      request.startedAtMs = performance.now();
      // Fastify rejects an unknown media type before it calls a parser.
      if (!spec.body) delete request.headers['content-type'];
      else if (spec.acceptsForms) detachFormParameters(request);
      const authorize = surface.beforeSignedBody ? authorizeSignedRequest : authorizeRequest;
      authorize(route, request, reply, done);
    },
    // Returns nothing: Fastify would await a returned reply like a promise on every request.
    handler: (request, reply) => void handleRequest(route, request, reply),
  });
}

async function handleRequest(
  route: ServerRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { deps, spec } = route;
  try {
    // A raw body has not been read yet; the operation reauthorizes after reading it.
    const again = spec.rawBody ? undefined : reauthorizeRequest(route, request, reply);
    if (again) await again;
    sendResponse(reply, await run(route, request, reply), spec.location);
    recordRequest(deps.requestLog, request, reply);
    if (spec.method !== 'GET' && !spec.isAnonymous?.(request.headers)) {
      deps.outage.stored();
      deps.onChange();
    }
  } catch (error) {
    reply.send(error);
  } finally {
    releaseBody(request, reply);
  }
}

/** A response can be as large as its request, so the memory is in use until the client has read it. */
function releaseBody({ receivedBody }: FastifyRequest, { raw }: FastifyReply): void {
  const release = receivedBody?.release;
  if (!release) return;
  if (raw.destroyed || raw.closed) release();
  else raw.once('close', release);
}

function run(
  route: ServerRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OperationResponse> | OperationResponse {
  const { spec, checks } = route;
  checks.query.check(request.query);
  if (spec.body && !spec.rawBody) {
    if (request.body === undefined && !checks.bodyOptional()) {
      throw new RefusedError('malformed_json', 'The body is empty. It must be a JSON object.');
    }
    if (request.body === undefined) request.body = {};
    checks.body?.check(request.body, request.caller ?? undefined, request.textErrors ?? []);
  }
  const context = new RequestContext(route, request, reply);
  const { idempotency } = context;
  return idempotency && !spec.handlesIdempotency
    ? runIdempotently(route, context, idempotency)
    : handle(route, context);
}

/** Operations of other surfaces call ours, which are recorded then. */
function handle(
  { deps, surface, operation }: ServerRoute,
  context: RequestContext,
): Promise<OperationResponse> | OperationResponse {
  const isRecorded = surface === deps.surfaces[0] && isAudited(operation.spec);
  return isRecorded ? handleAudited(deps.auditLog, operation, context) : operation.handle(context);
}

async function runIdempotently(
  route: ServerRoute,
  context: RequestContext,
  idempotency: IdempotencyRequest,
): Promise<OperationResponse> {
  let first: OperationResponse | undefined;
  const { result, replayed } = await route.deps.idempotency.once(idempotency, async () => {
    first = await handle(route, context);
    const { status, body } = first;
    return JSON.stringify({ status, body: body === undefined ? null : JSON.stringify(body) });
  });
  if (first && !replayed) return first;
  const { status, body } = JSON.parse(result) as { status: number; body: string | null };
  return {
    status,
    body: body ?? undefined,
    mediaType: 'application/json',
    headers: { 'idempotent-replayed': 'true' },
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';

function sendResponse(
  reply: FastifyReply,
  response: OperationResponse,
  location: Operation['spec']['location'],
): void {
  reply.code(response.status);
  if (response.headers) reply.headers(response.headers);
  const { body, mediaType } = response;
  if (location) reply.header('location', location(parseStoredBody(body)));
  if (body === undefined) {
    reply.send();
  } else if (mediaType !== undefined) {
    reply.type(mediaType).send(body);
  } else {
    reply.type(JSON_TYPE).send(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

/** A replayed response is the stored text. */
function parseStoredBody(body: unknown): never {
  return (typeof body === 'string' ? JSON.parse(body) : body) as never;
}
