import type { Clock } from '../base/clock.ts';
import { encodeId, uuidv7 } from '../base/ids.ts';
import { inTransaction, type Pool, type Queryable } from '../storage/pool.ts';
import {
  findWorkspaceByName,
  firstWorkspace,
  insertWorkspace,
  listWorkspaces,
  lockWorkspaces,
} from './workspace-store.ts';

/** A tenant. */
export interface Workspace {
  id: string;
  name: string;
  createdAtMs: number;
}

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

  /** For whoever tells workspaces apart by their names. Undefined when there is one of this name. */
  async createUnlessNamed(name: string): Promise<Workspace | undefined> {
    return inTransaction(this.#pool, async (client) => {
      await lockWorkspaces(client);
      if ((await findWorkspaceByName(client, name)).length > 0) return undefined;
      return insertNew(client, name, this.#clock.now());
    });
  }

  /** Undefined when there is one already: of nodes that start together one makes it. */
  async createFirst(name: string): Promise<Workspace | undefined> {
    return inTransaction(this.#pool, async (client) => {
      await lockWorkspaces(client);
      if (await firstWorkspace(client)) return undefined;
      return insertNew(client, name, this.#clock.now());
    });
  }

  list(): Promise<Workspace[]> {
    return listWorkspaces(this.#pool);
  }

  /** The workspace that commands mean when they name none. */
  first(): Promise<Workspace | undefined> {
    return firstWorkspace(this.#pool);
  }

  /** By id (wsp_…) or by name, which must be of one workspace only. */
  async find(idOrName: string): Promise<Workspace | undefined> {
    const all = await findWorkspaceByName(this.#pool, idOrName);
    if (all.length === 1) return all[0];
    return (await this.list()).find((one) => encodeId('wsp', one.id) === idOrName);
  }
}

async function insertNew(db: Queryable, name: string, nowMs: number): Promise<Workspace> {
  const workspace = { id: uuidv7(nowMs), name, createdAtMs: nowMs };
  await insertWorkspace(db, workspace);
  return workspace;
}

export function publicWorkspace(workspace: Workspace) {
  return {
    id: encodeId('wsp', workspace.id),
    name: workspace.name,
    created_at: new Date(workspace.createdAtMs).toISOString(),
  };
}
