import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { findMovedByMember } from '../moved-workspace-store.ts';
import type { Role } from '../roles.ts';
import { WorkspaceMovedError } from '../workspace-moved.ts';
import type { Person } from './person-store.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import {
  deleteExpiredSessions,
  endSession,
  endSessionByToken,
  endSessionsOfPerson,
  extendSession,
  type FoundSession,
  findSession,
  insertSession,
  limitOf,
  listSessions,
  roleOfSession,
  type Session,
  type SessionProvider,
} from './session-store.ts';

/**
 * Sessions: a secret in a cookie comes in, the signed-in person goes out. A session expires after a
 * week without use and after thirty days in any case; that of an identity provider after a day. Signing
 * out takes effect at once on every node, because sessions are looked up on each request and never
 * cached.
 */

/** The client of a request. */
export interface ClientInfo {
  ip: string;
  userAgent: string;
}

export interface SignedInPerson {
  person: Person;
  session: Session;
}

/** A new session with its secret, which is not stored anywhere. */
export interface NewSession extends SignedInPerson {
  token: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const IDLE_MAX_MS = 7 * DAY_MS;
export const SESSION_MAX_MS = 30 * DAY_MS;
/** Someone who lost access at the provider loses it here within this time. */
export const PROVIDER_SESSION_MAX_MS = DAY_MS;
/** How often the last use is recorded. */
const LAST_SEEN_INTERVAL_MS = 5 * 60 * 1000;
const USER_AGENT_CHARS_MAX = 300;

/** How a session was started. */
interface StartedBy extends Pick<Session, 'workspaceId' | 'isLimited'> {
  /** The encrypted ID token of an identity provider. */
  idToken: Buffer | null;
}

/** A session that a password started. */
const NO_PROVIDER: StartedBy = { workspaceId: null, isLimited: false, idToken: null };

export class Sessions {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  /**
   * Every session starts with a new secret and ends the one that was `presented`, which prevents
   * session fixation.
   */
  async start(
    person: Person,
    client: ClientInfo,
    presented: string | undefined,
    db?: Queryable,
    provider: StartedBy = NO_PROVIDER,
  ): Promise<NewSession> {
    const { idToken, ...startedBy } = provider;
    const nowMs = this.#clock.now();
    const token = newSecret();
    const session: Session = {
      id: uuidv7(nowMs),
      personId: person.id,
      createdAtMs: nowMs,
      seenAtMs: nowMs,
      endsAtMs: endOf(nowMs, { ...startedBy, createdAtMs: nowMs }),
      ip: client.ip,
      source: clientNetwork(client.ip),
      userAgent: client.userAgent.slice(0, USER_AGENT_CHARS_MAX),
      ...startedBy,
    };
    const write = async (to: Queryable): Promise<void> => {
      if (presented !== undefined) await endSessionByToken(to, hashSecret(presented), nowMs);
      await insertSession(to, session, hashSecret(token), idToken);
    };
    await (db ? write(db) : inTransaction(this.#pool, write));
    return { person, session, token };
  }

  /** Undefined when the secret belongs to no active session. */
  async find(token: string, workspaceId: string | undefined): Promise<FoundSession | undefined> {
    const nowMs = this.#clock.now();
    const found = await findSession(this.#pool, hashSecret(token), workspaceId, nowMs);
    if (!found) return undefined;
    const { session } = found;
    if (nowMs - session.seenAtMs >= LAST_SEEN_INTERVAL_MS) {
      session.seenAtMs = nowMs;
      session.endsAtMs = endOf(nowMs, session);
      await extendSession(this.#pool, session.id, nowMs, session.endsAtMs);
    }
    return found;
  }

  /**
   * For connections that outlive a request: the current role, or undefined when access has ended.
   */
  roleIn(workspaceId: string, { session }: SignedInPerson): Promise<Role | undefined> {
    return roleOfSession(this.#pool, session.id, workspaceId, this.#clock.now());
  }

  /** Throws if the workspace, of which the person was a member, has moved to another installation. */
  async rejectMoved({ person }: SignedInPerson, workspaceId: string): Promise<void> {
    const moved = await findMovedByMember(this.#pool, person.id, workspaceId);
    if (moved) throw new WorkspaceMovedError(moved);
  }

  list(
    { person, session }: SignedInPerson,
    page: { before?: string; limit: number },
  ): Promise<Session[]> {
    const limitedTo = limitOf(session);
    return listSessions(this.#pool, person.id, { ...page, nowMs: this.#clock.now(), limitedTo });
  }

  /** Signing out an ended session is not an error. Returns the identity provider that started it. */
  end(token: string): Promise<SessionProvider | undefined> {
    return endSessionByToken(this.#pool, hashSecret(token), this.#clock.now());
  }

  async endOne({ person, session }: SignedInPerson, id: string): Promise<void> {
    const nowMs = this.#clock.now();
    if (await endSession(this.#pool, person.id, id, nowMs, limitOf(session))) return;
    throw new RefusedError('not_found', 'There is no session with this id.');
  }

  async endAll(
    person: Person,
    options: { exceptId?: string | null; limitedTo?: string | null } = {},
  ): Promise<void> {
    await endSessionsOfPerson(this.#pool, person.id, this.#clock.now(), options);
  }

  /** Rows are kept as long as their source network counts as known. */
  async sweep(): Promise<void> {
    await deleteExpiredSessions(this.#pool, this.#clock.now() - SESSION_MAX_MS);
  }
}

/** When a session that is used now expires. */
function endOf(nowMs: number, session: Pick<Session, 'createdAtMs' | 'workspaceId'>): number {
  const { createdAtMs, workspaceId } = session;
  const maxMs = workspaceId === null ? SESSION_MAX_MS : PROVIDER_SESSION_MAX_MS;
  return Math.min(nowMs + IDLE_MAX_MS, createdAtMs + maxMs);
}
