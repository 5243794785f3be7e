import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from '../../dist/types/api.d.ts';
import type { Selection } from '../session/selection.ts';
import { ProblemError, problemFromResponse, unreachableError } from './problem.ts';
import { roleRefusals, sessionEnded } from './session-signals.ts';

/**
 * The public API with the session cookie instead of an API key. `unwrap` returns the response body
 * or throws a ProblemError. When a response says that the session has ended, the sign-in dialog
 * opens over the current page, which stays as it is.
 */

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Api = Client<paths>;

const clients = new Map<string, Api>();

/**
 * A client bound to one workspace and mode: a request retried after the user switched from test to
 * live mode still goes to the mode it was made for.
 */
export function apiFor(selection: Selection): Api {
  const cacheKey = `${selection.workspaceId} ${selection.mode}`;
  const cached = clients.get(cacheKey);
  if (cached) return cached;
  const created = createClient<paths>({ baseUrl: '/', headers: headersFor(selection) });
  clients.set(cacheKey, created);
  return created;
}

/**
 * The client for requests about the user: sessions, the account, the workspaces. The mode has no
 * effect on them; its header is sent as CSRF protection.
 */
export const api: Api = apiFor({ workspaceId: null, mode: 'test' });

/** Cross-site requests cannot set these headers, so the mode header also protects against CSRF. */
function headersFor({ workspaceId, mode }: Selection): Record<string, string> {
  return {
    'Postrider-Mode': mode,
    ...(workspaceId === null ? {} : { 'Postrider-Workspace': workspaceId }),
  };
}

interface ApiResult<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Returns the response body or throws a ProblemError. */
export async function unwrap<T>(request: Promise<ApiResult<T>>): Promise<NonNullable<T>> {
  let result: ApiResult<T>;
  try {
    result = await request;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachableError();
  }
  if (result.response.ok) return result.data as NonNullable<T>;
  throw errorFrom(result.response, result.error);
}

/** For requests that the typed client cannot express: uploads, downloads and streams. */
export async function fetchRaw(
  selection: Selection,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      ...init,
      headers: { ...headersFor(selection), ...init.headers },
    });
  } catch {
    throw unreachableError();
  }
  if (response.ok) return response;
  throw errorFrom(response, await response.json().catch(() => undefined));
}

const SESSION_ENDED = ['missing_api_key', 'invalid_session'];
const ROLE_REFUSED = [
  'insufficient_role',
  'not_a_member',
  'single_sign_on_required',
  'workspace_moved',
];

function errorFrom(response: Response, body: unknown): ProblemError {
  const error = new ProblemError(problemFromResponse(response.status, body));
  const { code } = error.problem;
  if (response.status === 401 && SESSION_ENDED.includes(code)) sessionEnded.set(true);
  if (response.status === 403 && ROLE_REFUSED.includes(code))
    roleRefusals.set(roleRefusals.get() + 1);
  return error;
}
