/** Explanations for messages that were never sent; the API's `explanation` covers the rest. */

const SUPPRESSED: Record<string, string> = {
  hard_bounce: 'An earlier message to this address bounced permanently.',
  complaint: 'The recipient marked an earlier message as spam.',
  manual: 'The address was added to the suppression list manually.',
  unsubscribe: 'The recipient unsubscribed.',
};

export function describeSuppression(reason: string | null): string {
  return SUPPRESSED[reason ?? ''] ?? 'The address is on the suppression list.';
}

/** Simulator addresses are never suppressed, so that they can be used repeatedly. */
export function isSimulated(email: string | undefined): boolean {
  return email?.toLowerCase().endsWith('@simulator.test') ?? false;
}

export function describeFailure(reason: string | null): string {
  return reason ? `Sending failed: ${reason.replaceAll('_', ' ')}.` : 'Sending failed.';
}
