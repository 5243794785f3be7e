import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from '../../dist/types/api.d.ts';
import type { Place } from '../session/place.ts';
import { ProblemError, problemOfAnswer, unreachable } from './problem.ts';
import { roleDoubted } from './role-doubted.ts';
import { sessionEnded } from './session-ended.ts';

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
export function apiOf(place: Place): Api {
  const name = `${place.workspaceId} ${place.mode}`;
  const known = clients.get(name);
  if (known) return known;
  const made = createClient<paths>({ baseUrl: '/', headers: headersOf(place) });
  clients.set(name, made);
  return made;
}

/**
 * For what belongs to the person and not to a place: sessions, the account, the workspaces. The mode
 * only proves that we ask.
 */
export const api: Api = apiOf({ workspaceId: null, mode: 'test' });

/** The mode is named in every request: other sites cannot do that, which proves that we ask. */
function headersOf({ workspaceId, mode }: Place): Record<string, string> {
  return {
    'Postrider-Mode': mode,
    ...(workspaceId === null ? {} : { 'Postrider-Workspace': workspaceId }),
  };
}

interface Called<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The answer's body, or a ProblemError. */
export async function ask<T>(calling: Promise<Called<T>>): Promise<NonNullable<T>> {
  let called: Called<T>;
  try {
    called = await calling;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (called.response.ok) return called.data as NonNullable<T>;
  throw refusal(called.response, called.error);
}

/** For what does not fit the typed client: files up and down. */
export async function askRaw(
  place: Place,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers: { ...headersOf(place), ...init.headers } });
  } catch {
    throw unreachable();
  }
  if (response.ok) return response;
  throw refusal(response, await response.json().catch(() => undefined));
}

const ENDED = ['missing_api_key', 'invalid_session'];
const OF_ROLE = ['insufficient_role', 'not_a_member'];

function refusal(response: Response, body: unknown): ProblemError {
  const error = new ProblemError(problemOfAnswer(response.status, body));
  const { code } = error.problem;
  if (response.status === 401 && ENDED.includes(code)) sessionEnded.set(true);
  if (response.status === 403 && OF_ROLE.includes(code)) roleDoubted.set(roleDoubted.get() + 1);
  return error;
}
