import type { Bounce, BounceReason } from '../../events/event-types.ts';

/**
 * The bounce types of Amazon SES, which Resend uses as well. Receivers drop an address after
 * `Permanent`, so this is only what we consider a hard bounce: a rejection because of the sender's
 * reputation says nothing about the address.
 */
export function bounceTypeOf(bounce: Bounce | undefined): {
  bounceType: 'Permanent' | 'Transient';
  bounceSubType: string;
} {
  if (bounce?.class === 'hard') {
    const isUnknown = bounce.reason === 'unknown_mailbox' || bounce.reason === 'unknown_domain';
    return { bounceType: 'Permanent', bounceSubType: isUnknown ? 'NoEmail' : 'General' };
  }
  const bounceSubType = (bounce && TRANSIENT[bounce.reason]) ?? 'General';
  return { bounceType: 'Transient', bounceSubType };
}

const TRANSIENT: Partial<Record<BounceReason, string>> = {
  mailbox_full: 'MailboxFull',
  message_too_large: 'MessageTooLarge',
  content_rejected: 'ContentRejected',
};
