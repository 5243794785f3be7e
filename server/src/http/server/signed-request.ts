import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MemoryBudget } from '../../lib/memory/memory-budget.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { eventLoopTurns } from '../../lib/scheduling/turns.ts';
import type { Route } from './api-surface.ts';
import { type AuthorizationDependencies, authorizeRequest } from './authorize-request.ts';
import { readBody } from './read-body.ts';

/**
 * Authorizes a request whose credential signs the body, which must be read first. Until the signature
 * is verified, the memory of the body is charged to the client's network, so that no one can use up
 * that of another workspace, and the request does not count against the rate limit.
 */
export function authorizeSignedRequest(
  route: Route<AuthorizationDependencies & { bodyBytesMax: number; bodyMemory: MemoryBudget }>,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const { deps, surface, spec } = route;
  const authorize = (): void => authorizeRequest(route, request, reply, done);
  if (spec.scope === 'public') {
    authorize();
    return;
  }
  const { bodyBytesMax: bytesMax, bodyMemory } = deps;
  const owner = (): string => clientNetwork(request.ip);
  const limits = {
    bytesMax,
    reserve: () => bodyMemory.reserve(owner()),
    nextTurn: () => eventLoopTurns.next(owner()),
  };
  const read = (): void =>
    readBody(request.raw, limits, (error, body) => {
      if (!body) {
        done(error ?? undefined);
        return;
      }
      if (body.release) reply.raw.once('close', body.release);
      request.receivedBody = body;
      authorize();
    });
  try {
    const pending = surface.beforeSignedBody?.(request);
    if (pending) pending.then(read, done);
    else read();
  } catch (error) {
    done(error as Error);
  }
}
