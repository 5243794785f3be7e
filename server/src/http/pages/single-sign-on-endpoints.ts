import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { People } from '../../accounts/people/people.ts';
import { CALLBACK_PATH } from '../../accounts/people/single-sign-on/connection.ts';
import { PENDING_MS } from '../../accounts/people/single-sign-on/pending-sign-in.ts';
import type {
  CompletedSignIn,
  FailedSignIn,
} from '../../accounts/people/single-sign-on/single-sign-on.ts';
import { decodeId, encodeId } from '../../lib/ids.ts';
import type { Log } from '../../lib/log.ts';
import type { AuditLog } from '../../logs/audit-log.ts';
import { clientInfoOf } from '../server/client-info.ts';
import { findCookie, type SessionCookie } from '../server/session-cookie.ts';

/**
 * Where browsers go to sign in with an identity provider, and where the provider sends them back. Both
 * only redirect: to the provider, to the dashboard, or to its page about a failed sign-in.
 */

interface Deps {
  people: People;
  auditLog: AuditLog;
  sessionCookie: SessionCookie;
  baseUrl: string;
  log: Log;
}

export function registerSingleSignOn(server: FastifyInstance, deps: Deps): void {
  const { people, sessionCookie } = deps;
  const cookie = createPendingCookie(deps.baseUrl);
  server.get('/sso/start', async (request, reply) => {
    const { workspace, next } = request.query as { workspace?: string; next?: string };
    if (isFromOtherSite(request)) return redirect(reply, signInPath(workspace));
    const workspaceId = typeof workspace === 'string' ? decodeId('wsp', workspace) : undefined;
    const client = clientInfoOf(request, sessionCookie);
    if (workspace !== undefined && workspaceId === undefined) {
      return redirect(reply, failurePath({ reason: 'not_configured', workspaceId }, request));
    }
    const result = await people.singleSignOn.start(workspaceId, pathBelowApp(next), client);
    if ('reason' in result) return fail(deps, request, reply, result);
    reply.header('set-cookie', cookie.set(result.cookie));
    return redirect(reply, result.url);
  });
  const complete = async (request: FastifyRequest, reply: FastifyReply) => {
    const client = clientInfoOf(request, sessionCookie);
    const parameters = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
    const { id: callbackId } = request.params as { id?: string };
    const response = { callbackId, parameters, presented: client.sessionToken };
    if (people.singleSignOn.isSignOutReturn(response)) {
      return redirect(reply, signInPath(callbackId));
    }
    const started = findCookie(request.headers.cookie ?? '', cookie.name);
    const result = await people.singleSignOn.complete(started, response, client);
    if ('reason' in result) return fail(deps, request, reply, result);
    await recordSignIn(deps, request, result);
    reply.header('set-cookie', [cookie.clear(), sessionCookie.set(result.session.token)]);
    return redirect(reply, `/app${result.next}`);
  };
  server.get(CALLBACK_PATH, complete);
  server.get(`${CALLBACK_PATH}/:id`, complete);
}

/**
 * Whether another site sent the browser here. It may have chosen a workspace whose provider signs in
 * everyone as the same user, to replace the session of the visitor with one of its own; so the visitor
 * is shown the sign-in page and decides.
 */
function isFromOtherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

function signInPath(workspace: unknown): string {
  if (typeof workspace !== 'string') return '/app/sign-in';
  return `/app/sign-in?${new URLSearchParams({ workspace })}`;
}

/**
 * The cookie of a started sign-in. Unlike the session cookie it is sent when the provider redirects
 * back, which is a request from another site.
 */
function createPendingCookie(baseUrl: string) {
  const secure = baseUrl.startsWith('https:');
  const name = secure ? '__Host-postrider_sign_in' : 'postrider_sign_in';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  return {
    name,
    set: (text: string) => `${name}=${text}; Max-Age=${PENDING_MS / 1000}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

const NEXT_CHARS_MAX = 500;

/** A path of the dashboard. Anything else is its first page, so that a link cannot lead to another site. */
function pathBelowApp(next: unknown): string {
  if (typeof next !== 'string' || next.length > NEXT_CHARS_MAX) return '/';
  return /^\/[\x21-\x7e]*$/.test(next) ? next : '/';
}

function fail(
  { log }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  failure: FailedSignIn,
): FastifyReply {
  const { reason, workspaceId, error } = failure;
  const fields = { workspace_id: workspaceId, request_id: request.id, reason, err: error };
  log.warn(fields, 'single sign-on failed');
  return redirect(reply, failurePath(failure, request));
}

function failurePath(
  { reason, workspaceId }: Pick<FailedSignIn, 'reason' | 'workspaceId'>,
  { id }: FastifyRequest,
): string {
  const query = new URLSearchParams({ reason, request: id });
  if (workspaceId !== undefined) query.set('workspace', encodeId('wsp', workspaceId));
  return `/app/single-sign-on-failed?${query}`;
}

function redirect(reply: FastifyReply, url: string): FastifyReply {
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(url, 303);
}

/** The sign-in, and what the provider changed about the membership. */
async function recordSignIn(
  { auditLog, sessionCookie }: Deps,
  request: FastifyRequest,
  { session, workspaceId, change, removed }: CompletedSignIn,
): Promise<void> {
  const { ip, userAgent } = clientInfoOf(request, sessionCookie);
  const actor = encodeId('usr', session.person.id);
  const entry = {
    where: { workspaceId },
    mode: null,
    actor,
    target: actor,
    client: { ip, userAgent, requestId: request.id },
  };
  if (change) {
    const action = change.kind === 'joined' ? 'joinBySingleSignOn' : 'changeRoleBySingleSignOn';
    await auditLog.record({ ...entry, action, details: { body: { role: change.role } } });
  }
  if (removed.length > 0) {
    const action = 'removeCredentialsBySingleSignOn';
    await auditLog.record({ ...entry, action, details: { body: { removed } } });
  }
  await auditLog.record({ ...entry, action: 'signInBySingleSignOn', details: {} });
}
