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

const FAILED: Record<string, string> = {
  sender_domain_lost:
    'The sender domain was deleted or its DKIM keys are missing. Add and verify the domain, then retry.',
  content_gone: 'The content was deleted after its retention period. Send a new message.',
  malformed_message:
    'The message could not be encoded. Check for unusual header values or attachments.',
  internal_error: 'Sending failed repeatedly because of an internal error. Check the server log.',
};

export function describeFailure(reason: string | null): string {
  const known = FAILED[reason ?? ''];
  if (known) return known;
  return reason ? `Sending failed: ${reason.replaceAll('_', ' ')}.` : 'Sending failed.';
}
