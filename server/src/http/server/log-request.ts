import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import { redactRequest } from '../../logs/redact-request.ts';
import type { RequestLog } from '../../logs/request-log.ts';
import type { ProblemDetails } from '../problems/problem-details.ts';

/**
 * Records the metrics of a request, and adds it to the request log. Called directly, because
 * Fastify's onResponse hook adds a listener to every response.
 */
export function recordRequest(
  requestLog: RequestLog,
  request: FastifyRequest,
  reply: FastifyReply,
  problem?: ProblemDetails,
): void {
  const { caller, startedAtMs } = request;
  const elapsedMs = startedAtMs === 0 ? 0 : performance.now() - startedAtMs;
  request.recordMetrics?.(reply.statusCode, elapsedMs);
  if (caller) logRequest(requestLog, caller, request, reply, elapsedMs, problem);
}

/**
 * Adds a request to the request log of the caller's workspace. What the dashboard reads and previews is
 * left out: it would bury the requests of programs, and looking at the log would fill it.
 */
export function logRequest(
  log: RequestLog,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
  durationMs: number,
  problem?: ProblemDetails,
): void {
  const { method } = request;
  const { statusCode: status } = reply;
  const failed = status >= 400;
  if (caller.keyId === undefined && request.changesNothing && !failed) return;
  if (!log.admits(caller.workspaceId, status)) return;
  log.add({
    workspaceId: caller.workspaceId,
    mode: caller.mode,
    id: request.id,
    method,
    url: request.url,
    operation: request.operationId,
    status,
    durationMs,
    actor: caller.actor,
    // Missing if the client had disconnected before its connection was accepted.
    ip: request.ip ?? '',
    userAgent: request.headers['user-agent'] ?? '',
    messageId: request.messageId,
    details: failed ? detailsOf(request, problem) : null,
  });
}

function detailsOf(request: FastifyRequest, problem: ProblemDetails | undefined) {
  const { receivedBody, body, query } = request;
  return redactRequest({
    // A body without this was not read completely, or is a stream.
    body: receivedBody ? body : undefined,
    bodyBytes: receivedBody?.bytes ?? 0,
    query,
    problem,
  });
}
