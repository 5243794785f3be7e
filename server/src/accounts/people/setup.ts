import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Workspace } from '../workspace.ts';
import {
  firstWorkspace,
  insertWorkspace,
  listWorkspaces,
  lockWorkspaces,
  renameWorkspace,
} from '../workspace-store.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { insertMembership } from './member-store.ts';
import type { Passwords } from './passwords.ts';
import { checkPersonInput, type PersonInput } from './person-input.ts';
import {
  anyPersonExists,
  insertPerson,
  lockPeople,
  newPerson,
  setInstanceOwner,
} from './person-store.ts';
import type { ClientInfo, NewSession, Sessions } from './sessions.ts';

/**
 * First-run setup: while no account exists, the first visitor becomes the owner of all workspaces.
 * There is no default password. On the server itself setup is open; from anywhere else it requires
 * the link that the server prints when it starts. Once an account exists the link is void.
 */

export interface NewOwner extends PersonInput {
  workspaceName?: string;
  token?: string;
}

interface SetupParts {
  pool: Pool;
  clock: Clock;
  limits: AttemptLimits;
  passwords: Passwords;
  sessions: Sessions;
  secretKey: Buffer;
}

export class Setup {
  readonly #parts: SetupParts;
  #done = false;

  constructor(parts: SetupParts) {
    this.#parts = parts;
  }

  async isNeeded(): Promise<boolean> {
    if (this.#done) return false;
    // The last account is never deleted, so once there is one, there always will be.
    this.#done = await anyPersonExists(this.#parts.pool);
    return !this.#done;
  }

  /** The setup link for the operator; undefined when setup is done. */
  async link(appUrl: string): Promise<string | undefined> {
    if (!(await this.isNeeded())) return undefined;
    const workspace = await firstWorkspace(this.#parts.pool);
    if (!workspace) return undefined;
    return `${appUrl}/app/setup#${this.#tokenFor(workspace)}`;
  }

  /** `trusted`: the request comes from this machine. */
  claim(owner: NewOwner, client: ClientInfo, trusted: boolean): Promise<NewSession> {
    return this.#parts.limits.limitBySource(client.ip, () => this.#claim(owner, client, trusted));
  }

  async #claim(owner: NewOwner, client: ClientInfo, trusted: boolean): Promise<NewSession> {
    const { pool, clock, passwords, sessions } = this.#parts;
    if (!(await this.isNeeded())) throw alreadyDone();
    if (!trusted && !(await this.#isToken(owner.token))) {
      throw new RefusedError(
        'setup_link_required',
        'To create the first account from another machine, use the setup link that the server printed when it started.',
      );
    }
    const mailbox = checkPersonInput(owner);
    const nowMs = clock.now();
    const passwordHash = await passwords.hash(owner.password);
    const { email, key: emailKey } = mailbox;
    // Only the operator can create this account, so nothing of it is removed later.
    const emailVerifiedAtMs = nowMs;
    const fields = { email, emailKey, name: owner.name, passwordHash, emailVerifiedAtMs };
    const person = newPerson(fields, nowMs);
    const newSession = await inTransaction(pool, async (db) => {
      await lockPeople(db);
      if (await anyPersonExists(db)) throw alreadyDone();
      await insertPerson(db, person);
      await setInstanceOwner(db, person.id, true);
      for (const workspace of await this.#lockWorkspaces(db, owner.workspaceName, nowMs)) {
        const membership = { workspaceId: workspace.id, personId: person.id };
        await insertMembership(db, { ...membership, role: 'owner', createdAtMs: nowMs });
      }
      return sessions.start(person, client, undefined, db);
    });
    this.#done = true;
    return newSession;
  }

  /**
   * All workspaces created at the command line, the first renamed if a name was given; or a new one
   * if there is none.
   */
  async #lockWorkspaces(
    db: Queryable,
    name: string | undefined,
    nowMs: number,
  ): Promise<Workspace[]> {
    await lockWorkspaces(db);
    const all = await listWorkspaces(db);
    const [first] = all;
    if (!first) {
      const workspace = { id: uuidv7(nowMs), name: name ?? 'Default', createdAtMs: nowMs };
      await insertWorkspace(db, workspace);
      return [{ ...workspace, suspension: null, deletion: null }];
    }
    if (name !== undefined) await renameWorkspace(db, first.id, name);
    return all;
  }

  async #isToken(given: string | undefined): Promise<boolean> {
    const workspace = await firstWorkspace(this.#parts.pool);
    if (given === undefined || !workspace) return false;
    const right = Buffer.from(this.#tokenFor(workspace));
    const text = Buffer.from(given);
    return text.length === right.length && timingSafeEqual(text, right);
  }

  /** The same on every node and at every start, but different for every database. */
  #tokenFor(workspace: Workspace): string {
    const key = Buffer.from(hkdfSync('sha256', this.#parts.secretKey, 'postrider', 'setup', 32));
    return createHmac('sha256', key).update(workspace.id).digest('base64url');
  }
}

function alreadyDone(): RefusedError {
  return new RefusedError('conflict', 'The first account already exists. Sign in.');
}
