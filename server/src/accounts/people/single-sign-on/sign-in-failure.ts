/**
 * Why a sign-in with an identity provider failed. The dashboard has a text for each
 * (dashboard/src/session/single-sign-on-failed.tsx).
 */
export const FAILURE_REASONS = [
  'account_exists',
  'cancelled',
  'completed',
  'expired',
  'invalid_response',
  'no_access',
  'no_email',
  'not_configured',
  'other_browser',
  'provider_error',
  'provider_unreachable',
  'too_many_attempts',
  'unverified_email',
  'workspace_full',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

export class SignInFailure extends Error {
  readonly reason: FailureReason;

  constructor(reason: FailureReason, options?: ErrorOptions) {
    super(`sign-in with an identity provider failed: ${reason}`, options);
    this.name = 'SignInFailure';
    this.reason = reason;
  }
}
