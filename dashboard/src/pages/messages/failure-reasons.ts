/** What cannot be read from the API's own `explanation`: why nobody was even asked. */

const SUPPRESSED: Record<string, string> = {
  hard_bounce: 'Earlier mail to this address bounced for good.',
  complaint: 'The recipient called earlier mail spam.',
  manual: 'Somebody put the address on the suppression list.',
  unsubscribe: 'The recipient unsubscribed.',
};

export function whySuppressed(reason: string | null): string {
  return SUPPRESSED[reason ?? ''] ?? 'The address is on the suppression list.';
}

/** They play a receiver's part again and again, so nothing they answer is held against them. */
export function isSimulated(email: string | undefined): boolean {
  return email?.toLowerCase().endsWith('@simulator.test') ?? false;
}

const FAILED: Record<string, string> = {
  sender_domain_lost:
    'The sender domain no longer belongs to the workspace, or its keys are gone. Add and verify it again, then try again.',
  content_gone: 'The content is no longer kept, so there is nothing to send. Send a new message.',
  malformed_message:
    'The message cannot be written down in a form that mail servers accept. Look for unusual header values or attachments.',
  internal_error:
    'Something of ours failed again and again with this message. The server’s log tells more.',
};

export function whyFailed(reason: string | null): string {
  const known = FAILED[reason ?? ''];
  if (known) return known;
  return reason ? `We could not send it: ${reason.replaceAll('_', ' ')}.` : 'We could not send it.';
}
