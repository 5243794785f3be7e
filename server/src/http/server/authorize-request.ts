import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, isTestKey } from '../../accounts/caller.ts';
import {
  type OperatorCaller,
  type OperatorKeys,
  operatorKeyRequired,
} from '../../accounts/operator-keys.ts';
import { limitOf, type Session } from '../../accounts/people/session-store.ts';
import type { Sessions, SignedInPerson } from '../../accounts/people/sessions.ts';
import { singleSignOnRequired } from '../../accounts/people/single-sign-on/connection.ts';
import type { RateDecision, RateLimiter, WorkspaceLimiters } from '../../accounts/rate-limit.ts';
import { isTeamRight, type Right, type Role, rightsOf, scopesOf } from '../../accounts/roles.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { WorkspaceMovingError } from '../../accounts/workspace-moving.ts';
import { decodeId, encodeId } from '../../lib/ids.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { Operation } from '../operation.ts';
import { pathNotFound } from '../problems/problem-details.ts';
import { type Limited, rateLimitHeader } from '../rate-limit-header.ts';
import type { Route } from './api-surface.ts';
import { bearerToken } from './bearer-token.ts';
import { rejectCrossSite } from './csrf.ts';
import type { SessionCookie } from './session-cookie.ts';

/**
 * Authenticates, authorizes and rate-limits a request before its body is read. A program sends
 * an API key; a user sends a session cookie and names the workspace and mode in headers. Both
 * become a `Caller`, and later code does not distinguish them. An operator key never becomes one:
 * it has no workspace, and operations that need one cannot run with it.
 */

export interface AuthorizationDependencies extends WorkspaceLimiters {
  sessions: Pick<Sessions, 'find' | 'rejectMoved'>;
  operatorKeys: Pick<OperatorKeys, 'authenticate'>;
  cookie: SessionCookie;
  /** Of its own, so that no number of client networks can push workspaces out of the other one. */
  networkRateLimiter: RateLimiter;
  baseUrl: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    signedIn: SignedInPerson | null;
    operator: OperatorCaller | null;
  }
}

export type AuthorizedRoute = Route<AuthorizationDependencies>;

type Spec = Operation['spec'];

export function authorizeRequest(
  route: AuthorizedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  try {
    const pending = authorize(route, request, reply);
    if (pending) pending.then(() => done(), done);
    else done();
  } catch (error) {
    done(error as Error);
  }
}

/**
 * Repeats the check after the body: a key that was revoked, a session that ended or a member
 * who was demoted in the meantime must not complete the request. For a cached key this is a lookup in
 * memory.
 */
export function reauthorizeRequest(
  route: AuthorizedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const { surface, spec } = route;
  if (!spec.body || spec.isAnonymous?.(request.headers)) return undefined;
  // A signed request was authorized after its body.
  if (surface.beforeSignedBody) return undefined;
  return authorize(route, request, reply);
}

/** Returns no promise when the API key is cached, because every send takes this path. */
function authorize(
  route: AuthorizedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const { deps, surface, spec } = route;
  for (const name in request.params as object) {
    if ((request.params as Record<string, string>)[name] !== '') continue;
    throw pathNotFound();
  }
  if (spec.scope === 'public') {
    if (!spec.csrfProtected) return undefined;
    reply.header('cache-control', 'no-store');
    if (!isSafe(spec)) rejectCrossSite(request.headers, deps.baseUrl);
    return undefined;
  }
  if (spec.isAnonymous?.(request.headers)) {
    applyRateLimit(deps.networkRateLimiter, 'network', clientNetwork(request.ip), reply);
    return undefined;
  }
  if (spec.scope === 'operator') return authorizeOperator(deps, request, reply);
  const { authorization = '', cookie } = request.headers;
  if (surface.acceptsSessions && authorization === '') {
    const token = deps.cookie.read(cookie);
    if (token !== undefined) return authorizeSession(route, token, request, reply);
  }
  const caller = surface.authenticate(request);
  const authorized = (known: Caller) => authorizeApiKey(route, known, request, reply);
  return caller instanceof Promise ? caller.then(authorized) : authorized(caller);
}

/** Ignores sessions: only the key decides. */
async function authorizeOperator(
  deps: AuthorizationDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.header('cache-control', 'no-store');
  const { authorization = '', cookie } = request.headers;
  if (authorization === '' && deps.cookie.read(cookie) !== undefined) throw operatorKeyRequired();
  const operator = await deps.operatorKeys.authenticate(bearerToken(authorization), request.ip);
  const isFirstCheck = request.operator === null;
  request.operator = operator;
  if (isFirstCheck) applyRateLimit(deps.rateLimiter, 'operator', operator.keyId, reply);
}

function isSafe(spec: Spec): boolean {
  return spec.method === 'GET';
}

function authorizeApiKey(
  route: AuthorizedRoute,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const { deps, surface, spec } = route;
  const isFirstCheck = request.caller === null;
  request.caller = caller;
  if (isFirstCheck) {
    const isRead = isSafe(spec);
    const rateLimiter = isRead ? deps.readRateLimiter : deps.rateLimiter;
    const limited = isRead ? 'reads' : 'workspace';
    const { workspaceId } = caller;
    const { waitsAtRateLimit } = surface;
    // Clients that wait for their turn are those of other APIs, which do not know these headers.
    const decision = waitsAtRateLimit
      ? rateLimiter.take(workspaceId)
      : takeFromLimit(rateLimiter, limited, workspaceId, reply);
    if (!decision.allowed) {
      const waits = waitsAtRateLimit && maySend(spec);
      const turn = waits ? rateLimiter.waitForTurn(workspaceId) : undefined;
      const refusal = rateLimited(limited, decision);
      if (!turn) throw refusal;
      return turn.then(() => {
        // No client would read the answer and know that the message was accepted.
        if (request.raw.socket.destroyed) throw refusal;
        // The key may have been revoked in the meantime.
        return authorize(route, request, reply);
      });
    }
  }
  requireScope(spec, caller);
  return undefined;
}

/** An operation that changes something and asks for no scope translates requests of several kinds. */
function maySend({ method, scope }: Spec): boolean {
  return scope === 'send:transactional' || (scope === 'any' && method === 'POST');
}

/** Refuses what the scopes or the mode of an API key do not allow. */
export function requireScope(spec: Spec, caller: Caller): void {
  const { scope } = spec;
  requireMode(spec, caller);
  if (scope === 'person' || isTeamRight(scope)) {
    const detail = 'This operation requires a signed-in user. API keys cannot use it.';
    throw new RefusedError('insufficient_scope', detail, { fix: 'Sign in at {app}/app.' });
  }
  if (scope !== 'any' && !caller.scopes.has(scope as never)) {
    const has = caller.scopes.size === 0 ? 'no scopes' : [...caller.scopes].join(', ');
    const detail = `This key has ${has}. This operation requires ${scope}.`;
    const fix = `Create a key with ${scope} at {app}/app/api-keys.`;
    throw new RefusedError('insufficient_scope', detail, { fix });
  }
}

async function authorizeSession(
  { deps, spec }: AuthorizedRoute,
  token: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.header('cache-control', 'no-store');
  if (!isSafe(spec)) rejectCrossSite(request.headers, deps.baseUrl);
  const workspace = request.headers['postrider-workspace'];
  const workspaceId = typeof workspace === 'string' ? decodeId('wsp', workspace) : undefined;
  const found = await deps.sessions.find(token, workspaceId);
  if (!found) {
    throw new RefusedError(
      'invalid_session',
      'The session does not exist or has ended. Sign in again.',
    );
  }
  const { person, session, role, needsSingleSignOn, isMoving } = found;
  const signedIn = { person, session };
  const isFirstCheck = request.signedIn === null;
  request.signedIn = signedIn;
  const member = workspaceId !== undefined && role !== undefined;
  // Sends count for the workspace, like those with an API key. Everything else has a limit of its
  // own, so that the dashboard stays usable while the workspace's programs are at their limit.
  const isSend = member && spec.scope === 'send:transactional';
  if (isFirstCheck && isSend) applyRateLimit(deps.rateLimiter, 'workspace', workspaceId, reply);
  else if (isFirstCheck) applyRateLimit(deps.rateLimiter, 'person', signedIn.person.id, reply);
  if (spec.scope === 'person') {
    requireFullSession(spec, session, request);
    return;
  }
  const mode = requireModeHeaders(request);
  if (!member) {
    if (workspaceId !== undefined) await deps.sessions.rejectMoved(signedIn, workspaceId);
    const detail = 'The workspace does not exist, or you are not a member of it.';
    throw new RefusedError('not_a_member', detail);
  }
  if (isMoving) throw new WorkspaceMovingError();
  if (needsSingleSignOn) throw singleSignOnRequired();
  const caller = sessionCaller(signedIn, workspaceId, mode, role);
  // Set before the last checks, so that a refusal is in the request log of the workspace.
  request.caller = caller;
  if (spec.scope !== 'any' && !rightsOf(role).has(spec.scope as Right)) {
    const detail = `Your role is ${role}. This operation requires ${spec.scope}.`;
    throw new RefusedError('insufficient_role', detail);
  }
  requireMode(spec, caller);
}

/**
 * The identity provider of a workspace decides who its members are, and nothing else: a session that it
 * started must not change the account, which may be a member of other workspaces.
 */
function requireFullSession(spec: Spec, session: Session, { params }: FastifyRequest): void {
  const limitedTo = limitOf(session);
  if (limitedTo === null || spec.limitedSessions) return;
  const { id } = (params ?? {}) as { id?: string };
  if (id !== undefined && decodeId('wsp', id) === limitedTo) return;
  const detail =
    'You signed in with the identity provider of a workspace, so this session can use that workspace only.';
  throw new RefusedError('limited_session', detail);
}

function sessionCaller(
  signedIn: SignedInPerson,
  workspaceId: string,
  mode: Mode,
  role: Role,
): Caller {
  return {
    workspaceId,
    mode,
    scopes: scopesOf(role),
    allowedDomains: [],
    actor: encodeId('usr', signedIn.person.id),
    keyId: undefined,
    endsAtMs: signedIn.session.endsAtMs,
  };
}

/** Checks both headers, so that a client that omits both gets both errors. */
function requireModeHeaders({ headers }: FastifyRequest): Mode {
  const mode = headers['postrider-mode'];
  const errors: FieldError[] = [];
  if (headers['postrider-workspace'] === undefined) {
    const detail = 'Requests with a session must name a workspace, such as wsp_….';
    errors.push({ parameter: 'Postrider-Workspace', code: 'required', detail });
  }
  if (mode !== 'live' && mode !== 'test') {
    const detail = 'Requests with a session must name a mode: live or test.';
    errors.push({ parameter: 'Postrider-Mode', code: 'required', detail });
  }
  if (errors.length === 0) return mode as Mode;
  throw new RefusedError('validation_failed', errors.map(({ detail }) => detail).join(' '), {
    errors,
  });
}

/** Checked before the scope of a key: no scope would help a key of the other mode. */
function requireMode(spec: Spec, caller: Caller): void {
  if (spec.mode === 'live' && isTestKey(caller)) {
    const detail = 'This operation changes what live mail uses, so it requires a live key.';
    throw new RefusedError('wrong_mode', detail);
  }
  if (spec.mode === 'test' && caller.mode === 'live') {
    throw new RefusedError('wrong_mode', 'This operation requires a test key.', {
      fix: 'Use a test key (pr_test_…). Create one at {app}/app/api-keys.',
    });
  }
}

function applyRateLimit(
  limiter: RateLimiter,
  name: Limited,
  id: string,
  reply: FastifyReply,
): void {
  const decision = takeFromLimit(limiter, name, id, reply);
  if (!decision.allowed) throw rateLimited(name, decision);
}

function takeFromLimit(
  limiter: RateLimiter,
  name: Limited,
  id: string,
  reply: FastifyReply,
): RateDecision {
  const decision = limiter.take(id);
  reply.header('ratelimit-policy', `"${name}";q=${decision.limit.burst};w=2`);
  reply.header('ratelimit', rateLimitHeader(name, decision));
  return decision;
}

function rateLimited(name: Limited, { limit, retryAfterSeconds }: RateDecision): RefusedError {
  const of = name === 'reads' ? 'Reading in the workspace' : `The ${name}`;
  const counted = name === 'workspace' ? ' Each message of a batch counts as a request.' : '';
  const detail = `${of} is limited to ${limit.perSecond} requests per second.${counted}`;
  return new RefusedError('rate_limited', detail, { retryAfterSeconds });
}
