import type { ReportFacts, SmtpFacts } from '../../events/event-types.ts';
import { smtpRejection } from '../../mail/smtp-client/smtp-results.ts';
import { STAGES } from './bounce-rules.ts';
import { type BounceBasis, classifyAttempt, classifyReport, reportBasis } from './verdict.ts';
import { findRule } from './verdict-rules.ts';

/** What is stored with a suppression that a hard bounce made. */
export type BounceEvidence = BounceBasis & {
  message_id: string;
  smtp: SmtpFacts | null;
  report?: ReportFacts;
};

export interface ReviewedSuppression {
  suppresses: boolean;
  /** What the current rules say about the evidence. */
  reason: string;
  rule: string | null;
}

/**
 * Classifies stored evidence again, by the current rules. Undefined when there is nothing to
 * classify: a bounce without a reply (the domain does not exist), or evidence in another format.
 */
export function reviewSuppression(evidence: object | null): ReviewedSuppression | undefined {
  const { smtp, report, rule, stage } = (evidence ?? {}) as Partial<BounceEvidence>;
  if (typeof smtp?.text !== 'string' || typeof rule !== 'string') return undefined;
  if (stage !== null && !STAGES.some((one) => one === stage)) return undefined;
  const { code, enhanced, text } = smtp;
  if (report) {
    const failure = { code, status: enhanced, text, stage: stage ?? null };
    const bounce = classifyReport(failure);
    const { reason } = bounce;
    return { suppresses: bounce.class === 'hard', reason, rule: reportBasis(failure).rule };
  }
  if (code === null || !stage) return undefined;
  const reply = { code, enhanced, text };
  const verdict = classifyAttempt(smtpRejection(stage, reply));
  if (verdict.kind !== 'bounced') return undefined;
  const { class: class_, reason } = verdict.bounce;
  return { suppresses: class_ === 'hard', reason, rule: findRule(reply, stage).rule };
}
