/**
 * Which failures happen, when, to which process and for how long: decided by the seed alone, so that
 * a run can be repeated. What the server does at that moment differs from run to run.
 */

export const FAILURES = {
  'node-kill': 'SIGKILL to a server process, which is started again after a while',
  'node-freeze': 'SIGSTOP to a server process, and SIGCONT after a while',
  'postmaster-kill': 'SIGKILL to the main process of PostgreSQL',
  'backend-kill': 'SIGKILL to one backend of PostgreSQL, which then restarts all of them',
  'database-freeze': 'SIGSTOP to all processes of PostgreSQL, and SIGCONT after a while',
  'disk-full': 'no space left on the disk of the database for a while',
  'clock-jump': 'the clock of a server process jumps by up to two minutes, and back after a while',
  switchover: 'Patroni makes a standby the primary',
  'leader-kill':
    'SIGKILL to Patroni and PostgreSQL of the primary; a standby takes over, and it returns as a standby',
  upgrade: 'a server of the earlier version is replaced by one of this version',
} as const;

export type FailureKind = keyof typeof FAILURES;

export interface PlannedFailure {
  number: number;
  kind: FailureKind;
  /** Time from the end of the previous failure. */
  pauseMs: number;
  /** How long the process is down, frozen or wrong. */
  holdMs: number;
  /** Selects one of several processes: between 0 and 1. */
  target: number;
  /** How far a clock jumps. */
  jumpMs: number;
}

export interface ScheduleOptions {
  seed: number;
  count: number;
  kinds: readonly FailureKind[];
  pauseMaxMs: number;
  /** Caps the times below. */
  holdMaxMs: number;
}

/**
 * A process that does not answer for four seconds loses its leases, so that both sides of this limit
 * have to occur.
 */
const HOLD_MAX_MS: Record<FailureKind, number> = {
  'node-kill': 6_000,
  'node-freeze': 8_000,
  'postmaster-kill': 0,
  'backend-kill': 0,
  'database-freeze': 8_000,
  'disk-full': 5_000,
  'clock-jump': 5_000,
  switchover: 0,
  'leader-kill': 6_000,
  upgrade: 10_000,
};
const PAUSE_MIN_MS = 50;
/** A deferral by a clock that is ahead is due that much later. */
export const JUMP_MAX_MS = 120_000;

/** Each kind occurs equally often: every round contains all of them, in an order of its own. */
export function planFailures(options: ScheduleOptions): PlannedFailure[] {
  const { count, kinds, pauseMaxMs, holdMaxMs } = options;
  const random = seededRandom(options.seed);
  const plan: PlannedFailure[] = [];
  while (plan.length < count && kinds.length > 0) {
    for (const kind of shuffled(kinds, random)) {
      plan.push({
        number: plan.length + 1,
        kind,
        pauseMs: between(PAUSE_MIN_MS, Math.max(PAUSE_MIN_MS, pauseMaxMs), random),
        holdMs: between(0, Math.min(HOLD_MAX_MS[kind], holdMaxMs), random),
        target: random(),
        jumpMs: between(-JUMP_MAX_MS, JUMP_MAX_MS, random),
      });
    }
  }
  return plan.slice(0, count);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

function between(min: number, max: number, random: () => number): number {
  return Math.round(min + random() * (max - min));
}

/** Mulberry32: the same numbers between 0 and 1 for the same seed, on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
