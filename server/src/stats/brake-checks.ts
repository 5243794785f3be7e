import { findWorkspace, setSuspension } from '../accounts/workspace-store.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { appendEvents } from '../events/events-store.ts';
import type { Clock } from '../lib/time/clock.ts';
import {
  type Brake,
  type BrakeDecision,
  type BrakeSettings,
  brakeExplanation,
  decideBrake,
  NO_POLICY,
  thresholdsOf,
} from '../quotas/brake.ts';
import { applyBrake, listBrakes, releaseBrake } from '../quotas/brake-store.ts';
import { publicBrake } from '../quotas/public-brake.ts';
import { type BrakeWindow, lockBrakes, readBrakeCounts } from './brake-rates-store.ts';
import { fewestThatMatter } from './troubled-workspaces.ts';

/**
 * Applies the automatic brake. Each change commits with its event. A pause is a suspension with the
 * evidence as its reason; when the operator resumes the workspace, the brake is released and what
 * happened before is not held against it again.
 */

const HOUR_MS = 3_600_000;

export class BrakeChecks {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #settings: BrakeSettings;

  constructor(parts: { pool: Pool; clock: Clock; settings: BrakeSettings }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#settings = parts.settings;
  }

  /** Checks all workspaces once. Any number of nodes may call it. */
  async check(): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      if (!(await lockBrakes(db))) return;
      const known = new Map((await listBrakes(db)).map((one) => [one.workspaceId, one]));
      if (known.size === 0 && !isEnabled(this.#settings)) return;
      for (const { workspaceId, brake, isSuspended } of known.values()) {
        if (brake?.state !== 'paused' || isSuspended) continue;
        await this.#release(db, workspaceId, brake, this.#clock.now());
        known.delete(workspaceId);
      }
      const nowMs = this.#clock.now();
      const fromMs = Math.floor((nowMs - this.#settings.windowMs) / HOUR_MS) * HOUR_MS;
      const { recipientsMin } = this.#settings;
      const all = await readBrakeCounts(db, { fromMs, ...significantCounts(this.#settings) });
      const judged = new Set<string>();
      for (const { workspaceId, ...counts } of all) {
        judged.add(workspaceId);
        const { policy = NO_POLICY, brake = null } = known.get(workspaceId) ?? {};
        if (brake?.state === 'paused') continue;
        const thresholds = thresholdsOf(this.#settings, policy);
        const decided = decideBrake(thresholds, recipientsMin, counts, brake?.state);
        if (decided && decided.state !== brake?.state) {
          await this.#apply(db, workspaceId, decided, { fromMs, nowMs });
        } else if (!decided && brake) await this.#release(db, workspaceId, brake, null);
      }
      // Without enough recipients in the window there is no reason to slow down any longer.
      for (const { workspaceId, brake } of known.values()) {
        if (brake?.state !== 'slowed' || judged.has(workspaceId)) continue;
        await this.#release(db, workspaceId, brake, null);
      }
    });
  }

  async #apply(
    db: Queryable,
    workspaceId: string,
    { state, evidence }: BrakeDecision,
    { fromMs, nowMs }: { fromMs: number; nowMs: number },
  ): Promise<void> {
    const window = { from: new Date(fromMs).toISOString(), to: new Date(nowMs).toISOString() };
    const brake: Brake = { state, sinceMs: nowMs, evidence: { ...evidence, ...window } };
    const workspace = await findWorkspace(db, workspaceId);
    if (!workspace) return;
    await applyBrake(db, workspaceId, brake);
    // The reason of an operator who suspended the workspace is kept.
    if (state === 'paused' && !workspace.suspension) {
      const reason = `Paused automatically: ${brakeExplanation(brake.evidence)}`;
      await setSuspension(db, workspaceId, { sinceMs: nowMs, reason });
    }
    await this.#publish(db, `workspace.${state}`, workspaceId, brake);
  }

  async #release(
    db: Queryable,
    workspaceId: string,
    brake: Brake,
    judgedFromMs: number | null,
  ): Promise<void> {
    if (!(await releaseBrake(db, workspaceId, judgedFromMs))) return;
    await this.#publish(db, 'workspace.released', workspaceId, brake);
  }

  async #publish(
    db: Queryable,
    type: 'workspace.slowed' | 'workspace.paused' | 'workspace.released',
    workspaceId: string,
    brake: Brake,
  ): Promise<void> {
    const data = { brake: publicBrake(brake, this.#settings) };
    const atMs = this.#clock.now();
    await appendEvents(db, [{ workspaceId, mode: 'live', type, atMs, data }]);
  }
}

/** The fewest recipients, bounces and complaints that can put a brake on by the settings. */
function significantCounts(settings: BrakeSettings): Omit<BrakeWindow, 'fromMs'> {
  const { recipientsMin, slowBounceRate, pauseBounceRate, slowComplaintRate, pauseComplaintRate } =
    settings;
  return {
    recipientsMin,
    bouncedMin: fewestThatMatter(recipientsMin, [slowBounceRate, pauseBounceRate]),
    complainedMin: fewestThatMatter(recipientsMin, [slowComplaintRate, pauseComplaintRate]),
  };
}

function isEnabled(settings: BrakeSettings): boolean {
  const { slowBounceRate, pauseBounceRate, slowComplaintRate, pauseComplaintRate } = settings;
  return slowBounceRate + pauseBounceRate + slowComplaintRate + pauseComplaintRate > 0;
}
