import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import { appendEvents } from '../events/events-store.ts';
import type { Clock } from '../lib/time/clock.ts';
import {
  type BrakePolicy,
  type BrakeSettings,
  NO_POLICY,
  probationEndOf,
  thresholdsOf,
} from './brake.ts';
import { findBrake, releaseBrake, saveBrakePolicy } from './brake-store.ts';
import { publicBrake } from './public-brake.ts';

/** The brake of a workspace, as the operator sees and changes it. */
export class WorkspaceBrakes {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #settings: BrakeSettings;
  readonly #onChange: (workspaceId: string) => void;

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    settings: BrakeSettings;
    onChange?: (workspaceId: string) => void;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#settings = parts.settings;
    this.#onChange = parts.onChange ?? (() => {});
  }

  async get({ id, createdAtMs }: { id: string; createdAtMs: number }) {
    const { policy, brake } = (await findBrake(this.#pool, id)) ?? {
      policy: NO_POLICY,
      brake: null,
    };
    const thresholds = thresholdsOf(this.#settings, policy);
    const endsAtMs = probationEndOf({ policy, createdAtMs }, this.#settings, this.#clock.now());
    return {
      brake: brake && publicBrake(brake, this.#settings),
      thresholds: {
        slow_bounce_percent: toPercent(thresholds.slowBounceRate),
        pause_bounce_percent: toPercent(thresholds.pauseBounceRate),
        slow_complaint_percent: toPercent(thresholds.slowComplaintRate),
        pause_complaint_percent: toPercent(thresholds.pauseComplaintRate),
      },
      policy: {
        slow_bounce_percent: toPercentOrNull(policy.slowBounceRate),
        pause_bounce_percent: toPercentOrNull(policy.pauseBounceRate),
        slow_complaint_percent: toPercentOrNull(policy.slowComplaintRate),
        pause_complaint_percent: toPercentOrNull(policy.pauseComplaintRate),
        probation_ends_at: sqlTime(policy.probationEndsAtMs),
      },
      probation:
        endsAtMs === undefined
          ? null
          : {
              ends_at: new Date(endsAtMs).toISOString(),
              messages_per_hour: this.#settings.probationMessagesPerHour,
            },
    };
  }

  /** Replaces the policy; takes effect with the next check, and for probation within a second. */
  async setPolicy(workspaceId: string, policy: BrakePolicy): Promise<void> {
    await saveBrakePolicy(this.#pool, workspaceId, policy);
    this.#onChange(workspaceId);
  }

  /**
   * Releases the brake. What happened until now is not held against the workspace again. Nothing happens
   * if no brake is on.
   */
  async release(workspaceId: string): Promise<void> {
    const nowMs = this.#clock.now();
    await inTransaction(this.#pool, async (db) => {
      const { brake } = (await findBrake(db, workspaceId)) ?? {};
      if (!brake || !(await releaseBrake(db, workspaceId, nowMs))) return;
      const data = { brake: publicBrake(brake, this.#settings) };
      const event = { workspaceId, mode: 'live', type: 'workspace.released', atMs: nowMs } as const;
      await appendEvents(db, [{ ...event, data }]);
    });
    this.#onChange(workspaceId);
  }
}

function toPercent(rate: number): number {
  return Number((rate * 100).toFixed(4));
}

function toPercentOrNull(rate: number | null): number | null {
  return rate === null ? null : toPercent(rate);
}
