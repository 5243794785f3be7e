import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/caller.ts';
import type { Sessions, SignedInPerson } from '../../accounts/people/sessions.ts';
import type { RateLimiter } from '../../accounts/rate-limit.ts';
import { isTeamRight, type Right, type Role, rightsOf, scopesOf } from '../../accounts/roles.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { decodeId, encodeId } from '../../lib/ids.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { Operation } from '../operation.ts';
import { pathNotFound } from '../problems/problem-details.ts';
import { rejectCrossSite } from './csrf.ts';
import type { SessionCookie } from './session-cookie.ts';

/**
 * Who is it, may they, and not too often: all before the body is read. A program brings an API key; a
 * person brings the cookie of a session and names workspace and mode in headers. Both leave as a
 * Caller, and behind this door nobody asks which it was.
 */

export interface AuthorizationDependencies {
  authenticator: Pick<Authenticator, 'authenticate'>;
  sessions: Pick<Sessions, 'find'>;
  cookie: SessionCookie;
  rateLimiter: RateLimiter;
  baseUrl: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    signedIn: SignedInPerson | null;
  }
}

type Spec = Operation['spec'];

export function authorizeRequest(
  deps: AuthorizationDependencies,
  { spec }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  reply.header('x-request-id', request.id);
  try {
    const pending = authorize(deps, spec, request, reply);
    if (pending) pending.then(() => done(), done);
    else done();
  } catch (error) {
    done(error as Error);
  }
}

/** A body that came in at once is not worth a second look: nothing has happened meanwhile. */
const RECHECK_AFTER_MS = 1_000;

/**
 * Once more, when the body took its time: a key that was revoked, a session that was ended or a member
 * who was demoted meanwhile must not finish what they began to send.
 */
export function reauthorizeRequest(
  deps: AuthorizationDependencies,
  spec: Spec,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  if (performance.now() - request.startedAtMs < RECHECK_AFTER_MS || !spec.body) return undefined;
  return authorize(deps, spec, request, reply);
}

/** Without a promise where nothing has to be asked: the path of every send. */
function authorize(
  deps: AuthorizationDependencies,
  spec: Spec,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
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
  const { authorization = '', cookie } = request.headers;
  const token = authorization === '' ? deps.cookie.read(cookie) : undefined;
  if (token !== undefined) return authorizeSession(deps, spec, token, request, reply);
  const caller = deps.authenticator.authenticate(bearerToken(authorization), request.ip);
  const authorized = (known: Caller): void => authorizeApiKey(deps, spec, known, request, reply);
  if (caller instanceof Promise) return caller.then(authorized);
  authorized(caller);
  return undefined;
}

function isSafe(spec: Spec): boolean {
  return spec.method === 'GET';
}

function authorizeApiKey(
  deps: AuthorizationDependencies,
  spec: Spec,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const isFirstCheck = request.caller === null;
  request.caller = caller;
  if (isFirstCheck) applyRateLimit(deps.rateLimiter, 'workspace', caller.workspaceId, reply);
  const { scope } = spec;
  if (scope === 'person' || isTeamRight(scope)) {
    const detail = 'This operation is for people who are signed in. No API key may use it.';
    throw new RefusedError('insufficient_scope', detail, { fix: 'Sign in at {app}/app.' });
  }
  if (scope !== 'any' && !caller.scopes.has(scope as never)) {
    const has = caller.scopes.size === 0 ? 'no scope' : [...caller.scopes].join(', ');
    const detail = `This key has ${has}. The operation needs ${scope}.`;
    const fix = `Create a key with ${scope} at {app}/app/api-keys.`;
    throw new RefusedError('insufficient_scope', detail, { fix });
  }
  requireTestMode(spec, caller.mode);
}

function bearerToken(header: string): string {
  if (header === '') {
    throw new RefusedError('missing_api_key', 'The request has no Authorization header.');
  }
  const match = /^Bearer +([^ ]+) *$/i.exec(header);
  if (!match) {
    const detail = 'The Authorization header must be "Bearer" and an API key.';
    throw new RefusedError('missing_api_key', detail);
  }
  return match[1] as string;
}

async function authorizeSession(
  deps: AuthorizationDependencies,
  spec: Spec,
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
      'The session has ended, or never was. Sign in again.',
    );
  }
  const { role, ...signedIn } = found;
  const isFirstCheck = request.signedIn === null;
  request.signedIn = signedIn;
  const member = workspaceId !== undefined && role !== undefined;
  if (isFirstCheck && member) applyRateLimit(deps.rateLimiter, 'workspace', workspaceId, reply);
  else if (isFirstCheck) applyRateLimit(deps.rateLimiter, 'person', signedIn.person.id, reply);
  if (spec.scope === 'person') return;
  const mode = requireModeHeaders(request);
  if (!member) {
    const detail = 'There is no such workspace, or you do not belong to it.';
    throw new RefusedError('not_a_member', detail);
  }
  if (spec.scope !== 'any' && !rightsOf(role).has(spec.scope as Right)) {
    const detail = `Your role is ${role}. The operation needs ${spec.scope}.`;
    throw new RefusedError('insufficient_role', detail);
  }
  requireTestMode(spec, mode);
  request.caller = sessionCaller(signedIn, workspaceId, mode, role);
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

/** Both headers are looked at, so that who forgets them learns of both. */
function requireModeHeaders({ headers }: FastifyRequest): Mode {
  const mode = headers['postrider-mode'];
  const errors: FieldError[] = [];
  if (headers['postrider-workspace'] === undefined) {
    const detail = 'A session names the workspace it is about, such as wsp_….';
    errors.push({ parameter: 'Postrider-Workspace', code: 'required', detail });
  }
  if (mode !== 'live' && mode !== 'test') {
    const detail = 'A session names the mode it is about: live or test.';
    errors.push({ parameter: 'Postrider-Mode', code: 'required', detail });
  }
  if (errors.length === 0) return mode as Mode;
  throw new RefusedError('validation_failed', errors.map(({ detail }) => detail).join(' '), {
    errors,
  });
}

function requireTestMode(spec: Spec, mode: Mode): void {
  if (!spec.testKeysOnly || mode === 'test') return;
  throw new RefusedError('insufficient_scope', 'This operation works with test keys only.', {
    fix: 'Use a test key (pr_test_…): they are made at {app}/app/api-keys.',
  });
}

/** Headers of the IETF draft "RateLimit header fields for HTTP". */
function applyRateLimit(
  limiter: RateLimiter,
  name: 'workspace' | 'person',
  id: string,
  reply: FastifyReply,
): void {
  const { allowed, remaining, retryAfterSeconds } = limiter.take(id);
  reply.header('ratelimit-policy', `"${name}";q=${limiter.burst};w=2`);
  reply.header('ratelimit', `"${name}";r=${remaining};t=${allowed ? 1 : retryAfterSeconds}`);
  if (allowed) return;
  const detail = `The ${name} may make ${limiter.perSecond} requests a second.`;
  throw new RefusedError('rate_limited', detail, { retryAfterSeconds });
}
