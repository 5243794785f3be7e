import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from '../../dist/types/api.d.ts';
import type { Selection } from '../session/selection.ts';
import { ProblemError, problemFromResponse, unreachableError } from './problem.ts';
import { roleRefusals } from './role-doubted.ts';
import { sessionEnded } from './session-signals.ts';

/**
 * The API as the dashboard calls it: the same as everybody's, with the session's cookie instead of a
 * key. `ask` gives the answer's body or throws a ProblemError; an answer that no longer knows the
 * session raises the sign-in window over whatever the person is doing, and leaves the page as it is.
 */

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Api = Client<paths>;

const clients = new Map<string, Api>();

/**
 * A client that speaks of one place only: a request that is repeated after the person went from test
 * to live still asks for what it began with.
 */
export function apiFor(place: Selection): Api {
  const cacheKey = `${place.workspaceId} ${place.mode}`;
  const cached = clients.get(cacheKey);
  if (cached) return cached;
  const created = createClient<paths>({ baseUrl: '/', headers: headersFor(place) });
  clients.set(cacheKey, created);
  return created;
}

/**
 * For what belongs to the person and not to a place: sessions, the account, the workspaces. The mode
 * only proves that we ask.
 */
export const api: Api = apiFor({ workspaceId: null, mode: 'test' });

/** The mode is named in every request: other sites cannot do that, which proves that we ask. */
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

/** The answer's body, or a ProblemError. */
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

/** For what does not fit the typed client: files up and down. */
export async function fetchRaw(
  place: Selection,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers: { ...headersFor(place), ...init.headers } });
  } catch {
    throw unreachableError();
  }
  if (response.ok) return response;
  throw errorFrom(response, await response.json().catch(() => undefined));
}

const SESSION_ENDED = ['missing_api_key', 'invalid_session'];
const ROLE_REFUSED = ['insufficient_role', 'not_a_member'];

function errorFrom(response: Response, body: unknown): ProblemError {
  const error = new ProblemError(problemFromResponse(response.status, body));
  const { code } = error.problem;
  if (response.status === 401 && SESSION_ENDED.includes(code)) sessionEnded.set(true);
  if (response.status === 403 && ROLE_REFUSED.includes(code)) roleRefusals.set(roleRefusals.get() + 1);
  return error;
}
