import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { insertMembership, lockTeam, updateRole } from './people/member-store.ts';
import type { Workspace } from './workspace.ts';
import { restoreWorkspace, scheduleDeletion } from './workspace-deletion.ts';
import {
  findWorkspace,
  findWorkspaceByName,
  firstWorkspace,
  insertWorkspace,
  listWorkspacePage,
  listWorkspaces,
  lockWorkspaces,
  renameWorkspace,
  setSuspension,
  type WorkspacePage,
} from './workspace-store.ts';

export class Workspaces {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  async create(name: string): Promise<Workspace> {
    return insertNew(this.#pool, name, this.#clock.now());
  }

  /** For operators who identify workspaces by name. Undefined when the name is already used. */
  async createIfNameIsFree(name: string, ownerId?: string): Promise<Workspace | undefined> {
    return inTransaction(this.#pool, async (client) => {
      await lockWorkspaces(client);
      if ((await findWorkspaceByName(client, name)).length > 0) return undefined;
      const workspace = await insertNew(client, name, this.#clock.now());
      if (ownerId !== undefined) await this.#insertOwner(client, workspace.id, ownerId);
      return workspace;
    });
  }

  /** Makes a user an owner, whether or not they are a member. */
  async addOwner({ id }: Workspace, personId: string): Promise<void> {
    await inTransaction(this.#pool, async (client) => {
      await lockTeam(client, id);
      if (await this.#insertOwner(client, id, personId)) return;
      await updateRole(client, id, personId, 'owner');
    });
  }

  #insertOwner(db: Queryable, workspaceId: string, personId: string): Promise<boolean> {
    const createdAtMs = this.#clock.now();
    return insertMembership(db, { workspaceId, personId, role: 'owner', createdAtMs });
  }

  /** Undefined when a workspace exists: of several nodes that start together, one creates it. */
  async createFirst(name: string): Promise<Workspace | undefined> {
    return inTransaction(this.#pool, async (client) => {
      await lockWorkspaces(client);
      if (await firstWorkspace(client)) return undefined;
      return insertNew(client, name, this.#clock.now());
    });
  }

  /**
   * Takes effect on every node within a second. For a workspace that is already suspended, only the
   * reason changes.
   */
  async suspend(workspace: Workspace, reason: string): Promise<Workspace> {
    const suspension = { sinceMs: workspace.suspension?.sinceMs ?? this.#clock.now(), reason };
    await setSuspension(this.#pool, workspace.id, suspension);
    return { ...workspace, suspension };
  }

  async resume(workspace: Workspace): Promise<Workspace> {
    await setSuspension(this.#pool, workspace.id, null);
    return { ...workspace, suspension: null };
  }

  /** Also moves a deletion that is already scheduled. */
  async scheduleDeletion(workspace: Workspace, deleteAtMs: number): Promise<Workspace> {
    const requestedAtMs = workspace.deletion?.requestedAtMs ?? this.#clock.now();
    const deletion = { requestedAtMs, deleteAtMs };
    await inTransaction(this.#pool, (db) => scheduleDeletion(db, workspace.id, deletion));
    return { ...workspace, deletion };
  }

  async restore(workspace: Workspace): Promise<Workspace> {
    await restoreWorkspace(this.#pool, workspace.id);
    return { ...workspace, deletion: null };
  }

  async rename(workspace: Workspace, name: string): Promise<Workspace> {
    await renameWorkspace(this.#pool, workspace.id, name);
    return { ...workspace, name };
  }

  /** By uuid. Throws if there is no such workspace. */
  async get(id: string): Promise<Workspace> {
    const found = await findWorkspace(this.#pool, id);
    if (!found) throw new RefusedError('not_found', 'There is no workspace with this id.');
    return found;
  }

  /** Newest first. */
  page(page: WorkspacePage): Promise<Workspace[]> {
    return listWorkspacePage(this.#pool, page);
  }

  list(): Promise<Workspace[]> {
    return listWorkspaces(this.#pool);
  }

  /** The default workspace of CLI commands. */
  first(): Promise<Workspace | undefined> {
    return firstWorkspace(this.#pool);
  }

  /** By id (wsp_…), or by name if it is unique. */
  async find(idOrName: string): Promise<Workspace | undefined> {
    const all = await findWorkspaceByName(this.#pool, idOrName);
    if (all.length === 1) return all[0];
    return (await this.list()).find((one) => encodeId('wsp', one.id) === idOrName);
  }
}

async function insertNew(db: Queryable, name: string, nowMs: number): Promise<Workspace> {
  const workspace = {
    id: uuidv7(nowMs),
    name,
    createdAtMs: nowMs,
    suspension: null,
    deletion: null,
  };
  await insertWorkspace(db, workspace);
  return workspace;
}
