import { hashToken, isToken } from '../accounts/api-key-token.ts';
import type { Caller } from '../accounts/caller.ts';
import type { CellAddress } from '../config/cell-settings.ts';
import { MISDIRECTED_HEADER } from '../http/pages/cell-lookup.ts';
import type { ProblemDetails } from '../http/problems/problem-details.ts';
import { WeightedCache } from '../lib/memory/weighted-cache.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { CellDirectory } from './cell-directory.ts';
import type { RoutingSubject } from './routing-subject.ts';

/**
 * SMTP submission for several cells: the router speaks SMTP with the client, as a node does, and passes
 * each message to the cell of its API key as a request to `POST /transactional/raw`, which accepts what
 * SMTP submission accepts. So a session can stay open while its workspace moves, and a message is
 * accepted when the cell has committed it.
 */
export interface SubmissionForwarderParts {
  directory: CellDirectory;
  clock: Clock;
}

/** What a session has presented. */
interface Credential {
  key: string;
  ip: string;
}

/** A key is checked by the cell with every message; this is only about the reply to MAIL. */
const CHECKED_MS = 60_000;
const CHECKED_MAX = 20_000;
const CHECK_TIMEOUT_MS = 10_000;
/** Of a message. Cells answer within their own limits. */
const SEND_TIMEOUT_MS = 120_000;

export class SubmissionForwarder {
  readonly #parts: SubmissionForwarderParts;
  readonly #checked = new WeightedCache<{ caller: Caller; atMs: number }>(CHECKED_MAX);
  readonly #credentials = new WeakMap<Caller, Credential>();

  constructor(parts: SubmissionForwarderParts) {
    this.#parts = parts;
  }

  /** Throws a RefusedError as the cell would. */
  async authenticate(key: string, ip: string): Promise<Caller> {
    if (!isToken(key)) {
      const detail = 'This is not a valid Postrider API key: its format or checksum is wrong.';
      throw new RefusedError('invalid_api_key', detail);
    }
    const name = `${hashToken(key).toString('hex')} ${ip}`;
    const nowMs = this.#parts.clock.now();
    const checked = this.#checked.get(name);
    if (checked && nowMs - checked.atMs < CHECKED_MS) return checked.caller;
    // Any operation that every key may use.
    const response = await this.#send({ key, ip }, '/api/v1/limits', {
      signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
    });
    if (response.status !== 200) throw await toRefusedError(response);
    await response.body?.cancel();
    const caller = callerOf(key);
    this.#credentials.set(caller, { key, ip });
    this.#checked.set(name, { caller, atMs: nowMs }, 1);
    return caller;
  }

  async accept(
    caller: Caller,
    data: Buffer,
    { recipients }: { recipients: readonly string[] },
  ): Promise<{ message: { id: string } }> {
    const credential = this.#credentials.get(caller) as Credential;
    const response = await this.#send(credential, '/api/v1/transactional/raw', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ raw: data.toString('base64'), recipients }),
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
    if (response.status !== 202) throw await toRefusedError(response);
    const { id } = (await response.json()) as { id: string };
    return { message: { id } };
  }

  async #send(credential: Credential, path: string, init: RequestInit): Promise<Response> {
    const { directory } = this.#parts;
    const subject: RoutingSubject = {
      kind: 'key',
      value: hashToken(credential.key).toString('hex'),
    };
    const located = await directory.locate(subject);
    if (located.state === 'unavailable') throw unavailable();
    if (located.state === 'absent') {
      throw new RefusedError('invalid_api_key', 'This API key does not exist.');
    }
    const response = await request(located.cell, credential, path, init);
    if (!response.headers.has(MISDIRECTED_HEADER)) return response;
    const again = await directory.locateAgain(subject);
    if (again.state === 'unavailable') throw unavailable();
    if (again.state !== 'here' || again.cell === located.cell) return response;
    await response.body?.cancel();
    return request(again.cell, credential, path, init);
  }
}

async function request(
  cell: CellAddress,
  { key, ip }: Credential,
  path: string,
  init: RequestInit,
): Promise<Response> {
  try {
    return await fetch(`${cell.url}${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${key}`, 'x-forwarded-for': ip },
      redirect: 'error',
    });
  } catch {
    throw unavailable();
  }
}

/** The refusal of a cell, to be answered in SMTP as the cell itself would. */
async function toRefusedError(response: Response): Promise<RefusedError> {
  const text = await response.text();
  try {
    const { code, detail, errors = [] } = JSON.parse(text) as ProblemDetails;
    return new RefusedError(code, detail, { errors });
  } catch {
    return unavailable();
  }
}

/** The cell decides what a key may do. Sessions of one key share what the router limits. */
function callerOf(key: string): Caller {
  return {
    workspaceId: hashToken(key).toString('hex'),
    mode: 'live',
    scopes: new Set(['send:transactional']),
    allowedDomains: [],
    actor: 'smtp',
    keyId: undefined,
  };
}

function unavailable(): RefusedError {
  const detail =
    'The server of this workspace cannot be reached, or the workspace is being moved. Try again.';
  return new RefusedError('storage_unavailable', detail, { retryAfterSeconds: 2 });
}
