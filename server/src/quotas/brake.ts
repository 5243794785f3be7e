import type { Quotas } from './quota.ts';

/**
 * The automatic brake: a workspace whose bounces or complaints pass a threshold is slowed down to a
 * number of messages per hour, and paused if they pass a higher one. The rate that a new workspace starts
 * with is part of it. Everything here is pure: the checks are in stats/brake-checks.ts.
 */

export interface BrakeThresholds {
  /** Shares from 0 to 1; 0 disables a threshold. */
  slowBounceRate: number;
  pauseBounceRate: number;
  slowComplaintRate: number;
  pauseComplaintRate: number;
}

export interface BrakeSettings extends BrakeThresholds {
  windowMs: number;
  /** Fewer recipients than this in the window are not significant. */
  recipientsMin: number;
  slowedMessagesPerHour: number;
  /** 0: no probation. */
  probationMs: number;
  probationMessagesPerHour: number;
}

/** Null in a threshold: that of the settings. */
export type BrakePolicy = { [Name in keyof BrakeThresholds]: number | null } & {
  probationEndsAtMs: number | null;
};

export const NO_POLICY: BrakePolicy = {
  slowBounceRate: null,
  pauseBounceRate: null,
  slowComplaintRate: null,
  pauseComplaintRate: null,
  probationEndsAtMs: null,
};

export type BrakeState = 'slowed' | 'paused';

/** Why a brake is on. */
export interface BrakeEvidence {
  kind: 'bounce_rate' | 'complaint_rate';
  /** Shares from 0 to 1. */
  rate: number;
  threshold: number;
  /** How many bounced or complained, of how many. */
  counted: number;
  recipients: number;
  from: string;
  to: string;
}

export interface Brake {
  state: BrakeState;
  sinceMs: number;
  evidence: BrakeEvidence;
}

/** What became of the live mail of a workspace in the window. */
export interface BrakeCounts {
  /** Recipients with a final result. */
  ended: number;
  bounced: number;
  delivered: number;
  complained: number;
}

/** A brake that is on goes off below this part of the threshold, so that it does not flutter. */
const CLEAR_RATIO = 0.8;

export function thresholdsOf(settings: BrakeThresholds, policy: BrakePolicy): BrakeThresholds {
  return {
    slowBounceRate: policy.slowBounceRate ?? settings.slowBounceRate,
    pauseBounceRate: policy.pauseBounceRate ?? settings.pauseBounceRate,
    slowComplaintRate: policy.slowComplaintRate ?? settings.slowComplaintRate,
    pauseComplaintRate: policy.pauseComplaintRate ?? settings.pauseComplaintRate,
  };
}

export interface BrakeDecision {
  state: BrakeState;
  evidence: Omit<BrakeEvidence, 'from' | 'to'>;
}

/**
 * The state that the counts call for; undefined for none. A pause is never lifted here: the operator
 * resumes a workspace.
 */
export function decideBrake(
  thresholds: BrakeThresholds,
  recipientsMin: number,
  counts: BrakeCounts,
  current: BrakeState | undefined,
): BrakeDecision | undefined {
  const rates = ratesOf(recipientsMin, counts);
  const passed = (state: BrakeState, ratio: number): BrakeDecision | undefined => {
    for (const { kind, counted, recipients } of rates) {
      const threshold = thresholds[THRESHOLD_NAMES[state][kind]];
      const rate = counted / recipients;
      if (threshold === 0 || rate < threshold * ratio) continue;
      return { state, evidence: { kind, rate, threshold, counted, recipients } };
    }
    return undefined;
  };
  return passed('paused', 1) ?? passed('slowed', current === 'slowed' ? CLEAR_RATIO : 1);
}

const THRESHOLD_NAMES = {
  slowed: { bounce_rate: 'slowBounceRate', complaint_rate: 'slowComplaintRate' },
  paused: { bounce_rate: 'pauseBounceRate', complaint_rate: 'pauseComplaintRate' },
} as const;

/** Complaints first: receivers forgive them least. */
function ratesOf(recipientsMin: number, counts: BrakeCounts) {
  const all = [
    { kind: 'complaint_rate', counted: counts.complained, recipients: counts.delivered },
    { kind: 'bounce_rate', counted: counts.bounced, recipients: counts.ended },
  ] as const;
  return all.filter(({ recipients }) => recipients >= Math.max(1, recipientsMin));
}

/** A sentence for the members of the workspace. */
export function brakeExplanation({ kind, rate, threshold, counted, recipients }: BrakeEvidence) {
  const what = kind === 'bounce_rate' ? 'bounced' : 'were reported as spam';
  const percent = (share: number): string => `${Number((share * 100).toFixed(2))}%`;
  return `${counted} of ${recipients} messages ${what} (${percent(rate)}, the limit is ${percent(threshold)}).`;
}

export interface BrakeContext {
  policy: BrakePolicy;
  state: BrakeState | null;
  createdAtMs: number;
}

/** When the probation of a workspace ends; undefined if it is not on probation. */
export function probationEndOf(
  { policy, createdAtMs }: Pick<BrakeContext, 'policy' | 'createdAtMs'>,
  settings: BrakeSettings,
  nowMs: number,
): number | undefined {
  const endsAtMs = policy.probationEndsAtMs ?? createdAtMs + settings.probationMs;
  return endsAtMs > nowMs ? endsAtMs : undefined;
}

/** The quotas of a workspace, lowered by probation and by the brake. Undefined: no limits at all. */
export function effectiveQuotas(
  quotas: Quotas | undefined,
  none: Quotas,
  context: BrakeContext,
  settings: BrakeSettings,
  nowMs: number,
): Quotas | undefined {
  const caps: number[] = [];
  if (probationEndOf(context, settings, nowMs) !== undefined) {
    caps.push(settings.probationMessagesPerHour);
  }
  if (context.state === 'slowed') caps.push(settings.slowedMessagesPerHour);
  if (caps.length === 0) return quotas;
  const own = quotas ?? none;
  return { ...own, messages_per_hour: Math.min(own.messages_per_hour ?? Infinity, ...caps) };
}
