import type { BounceReason } from '../../events/event-types.ts';

/**
 * The texts that senders read: what happened and what they can do about it. Each has two endings,
 * because "we will retry" and "this is final" call for different advice.
 */
export type ExplanationKey =
  | BounceReason
  | FailureReason
  | 'ambiguous'
  | 'blocklisted'
  | 'busy'
  | 'certificate'
  | 'dnsFailed'
  | 'domainNotFound'
  | 'eightBit'
  | 'heloRefused'
  | 'loop'
  | 'noAddress'
  | 'noRelay'
  | 'nullMx'
  | 'outOfReach'
  | 'receiverLoop'
  | 'receiverNetwork'
  | 'relayPassword'
  | 'relayTooLarge'
  | 'reverseDns'
  | 'senderRefused'
  | 'suspended'
  | 'unsigned'
  | 'utf8Header';

/** Why this server cannot send a message, now or later. */
export type FailureReason = (typeof FAILURE_REASONS)[number];

export const FAILURE_REASONS = [
  'sender_domain_lost',
  'content_gone',
  'malformed_message',
  'internal_error',
] as const;

export function isFailureReason(reason: string | null): reason is FailureReason {
  return (FAILURE_REASONS as readonly (string | null)[]).includes(reason);
}

export function explain(key: ExplanationKey, ending: 'deferred' | 'bounced' | 'failed'): string {
  const { summary, advice } = EXPLANATIONS[key];
  if (ending === 'deferred')
    return `${summary} ${advice?.deferred ?? 'We will retry automatically.'}`;
  return advice?.final ? `${summary} ${advice.final}` : summary;
}

/** A receiver that limits us, with the time that a sender waits for. */
export function explainThrottle(receiver: string, nextAttemptInMs: number): string {
  const seconds = Math.max(1, Math.round(nextAttemptInMs / 1000));
  const wait = seconds < 90 ? `${seconds} seconds` : `about ${Math.round(seconds / 60)} minutes`;
  return `${receiver} is limiting how much mail it accepts from this server, so we send to it more slowly. The next attempt is in ${wait}.`;
}

/** Mail beyond the cap of a warm-up; null before the warm-up starts. */
export function explainWarmUp(provider: string, cap: number | null): string {
  if (cap === null)
    return 'This server does not send from its new address yet. It will be sent when it does.';
  const receivers = provider === 'other' ? 'all smaller providers together' : provider;
  return `This server sends from a new address, and only ${cap} messages a day to ${receivers} for now. More are sent each day, and the next attempt is after midnight UTC.`;
}

interface Explanation {
  summary: string;
  advice?: { deferred?: string; final?: string };
}

const EXPLANATIONS: Record<ExplanationKey, Explanation> = {
  unknown_mailbox: {
    summary: 'The mailbox does not exist.',
    advice: {
      deferred: 'The receiver says this may be temporary. We will retry automatically.',
      final: 'Check the address for typos, and do not send to it again.',
    },
  },
  mailbox_full: {
    summary: 'The mailbox is full.',
    advice: { final: 'Try again after the recipient has freed up space.' },
  },
  mailbox_disabled: {
    summary: 'The mailbox exists but is disabled.',
    advice: { final: 'Ask the recipient for a different address.' },
  },
  unknown_domain: {
    summary: "The recipient's domain does not exist or does not accept mail.",
    advice: { final: 'Check the domain for typos.' },
  },
  blocked_reputation: {
    summary: "The receiver blocked the mail because of the sending IP address's reputation.",
    advice: {
      final:
        "The receiver's reply explains why. Ask the receiver to remove the block, and check recent mail for bounces and complaints.",
    },
  },
  blocked_policy: {
    summary: "The receiver's policy does not allow this message.",
    advice: {
      final:
        "The receiver's reply may name the rule. Contact its postmaster to request an exception.",
    },
  },
  authentication_failed: {
    summary: 'The receiver could not verify that the sender domain authorized this mail.',
    advice: {
      final:
        "Check the domain's SPF, DKIM and DMARC records; the domain page shows which one is wrong.",
    },
  },
  content_rejected: {
    summary: 'The receiver rejected the message because of its content.',
    advice: {
      final: 'Review the links, attachments and wording: a spam or virus filter objected to them.',
    },
  },
  message_too_large: {
    summary: "The message exceeds the receiver's size limit.",
    advice: { final: 'Reduce the attachments, or link to the files instead.' },
  },
  rate_limited: {
    summary:
      'The receiver is limiting how much mail it accepts from this server or for this mailbox.',
    advice: { deferred: 'We will slow down and retry automatically.', final: 'Try again later.' },
  },
  greylisted: {
    summary: 'The receiver asks unknown senders to retry after a short delay (greylisting).',
    advice: {
      deferred: 'This is normal. We will retry in a few minutes.',
      final: 'Try again later.',
    },
  },
  relaying_denied: {
    summary: 'The receiving server does not accept mail for this domain.',
    advice: {
      final: "The domain's owner must correct its MX records or mail server configuration.",
    },
  },
  network_unreachable: {
    summary: "No mail server of the recipient's domain could be reached.",
  },
  connection_lost: {
    summary: 'The connection to the receiver was lost.',
  },
  timed_out: {
    summary: 'The receiver did not respond in time.',
  },
  tls_required: {
    summary:
      'TLS is required for this message, but no encrypted connection to the receiver could be established.',
    advice: { final: 'The receiver must offer TLS, or the sender domain must stop requiring it.' },
  },
  tls_failed: {
    summary: 'The TLS connection to the receiver failed.',
  },
  smtputf8_unsupported: {
    summary:
      'The address contains non-ASCII characters before the @, and the receiver does not support them (SMTPUTF8).',
    advice: { final: 'Ask the recipient for an address with ASCII characters only.' },
  },
  protocol_error: {
    summary: 'The receiver sent an invalid SMTP response.',
  },
  unknown: {
    summary: 'The receiver rejected the message for an unrecognized reason.',
    advice: {
      deferred: "See the receiver's reply. We will retry automatically.",
      final: "See the receiver's reply.",
    },
  },
  ambiguous: {
    summary: 'The message was sent, but the receiver did not confirm it. It may have arrived.',
    advice: {
      deferred:
        'We will send it again with the same Message-ID so that the receiver can detect the duplicate.',
    },
  },
  blocklisted: {
    summary: 'The sending IP address is on a public blocklist.',
    advice: {
      final: "The receiver's reply names the blocklist; its website explains how to be removed.",
    },
  },
  busy: { summary: 'The receiver is busy or has a temporary problem.' },
  certificate: {
    summary:
      'The receiver must present a valid TLS certificate, but the one it presented is not valid for its name.',
  },
  dnsFailed: {
    summary: "DNS lookups for the recipient's domain failed.",
  },
  domainNotFound: {
    summary: "The recipient's domain does not exist.",
    advice: { final: 'Check the domain for typos.' },
  },
  eightBit: {
    summary: 'The receiver accepts only ASCII messages, and this message contains 8-bit data.',
  },
  heloRefused: {
    summary: "The receiver does not accept this server's HELO name.",
    advice: {
      deferred:
        'The operator should set HELO_NAME to a host name with an address record. We will retry automatically.',
      final:
        "The operator should set HELO_NAME to a host name that resolves to this server's IP address and back.",
    },
  },
  loop: {
    summary:
      "The recipient's domain lists this server as its own mail server, which would cause a mail loop.",
    advice: { final: "The domain's owner must correct its MX records." },
  },
  noAddress: {
    summary: "The recipient's domain has no mail server with an IP address.",
    advice: { final: "The domain's owner must correct its MX and address records." },
  },
  noRelay: {
    summary: 'No relay could be reached.',
    advice: { deferred: 'The operator should check DELIVERY_ROUTE. We will retry automatically.' },
  },
  nullMx: {
    summary: "The recipient's domain does not accept mail (null MX).",
    advice: { final: 'Check the domain for typos, and do not send to it again.' },
  },
  outOfReach: {
    summary: "The receiver's mail servers use an IP version that this server does not send from.",
    advice: {
      deferred: 'The operator should check OUTGOING_ADDRESSES. We will retry automatically.',
    },
  },
  receiverLoop: { summary: 'The receiver reported a mail loop in its own systems.' },
  receiverNetwork: {
    summary: 'The receiver could not deliver the message within its own network.',
  },
  relayPassword: {
    summary: "The relay rejected this server's credentials or does not allow it to send.",
    advice: { deferred: 'The operator should check DELIVERY_ROUTE. We will retry automatically.' },
  },
  relayTooLarge: {
    summary: "The message exceeds the relay's size limit.",
    advice: { final: 'Reduce the attachments, or link to the files instead.' },
  },
  reverseDns: {
    summary: 'The sending IP address has no valid reverse DNS name.',
    advice: {
      deferred: 'The operator should set its PTR record. We will retry automatically.',
      final: "The operator should set its PTR record to this server's HELO name.",
    },
  },
  senderRefused: {
    summary: 'The receiver does not accept the sender address.',
    advice: {
      final: 'Check that the sender domain exists, accepts mail and has its DNS records published.',
    },
  },
  suspended: {
    summary: 'Sending is suspended for this workspace.',
    advice: {
      deferred:
        'It will be sent when the workspace is resumed or restored, unless it expires first.',
    },
  },
  unsigned: {
    summary: 'The message could not be signed, and unsigned messages are not sent.',
    advice: { deferred: 'This is a problem on our side. We will retry automatically.' },
  },
  utf8Header: {
    summary:
      'An address in From, Reply-To, To or Cc contains non-ASCII characters before the @, and the receiver does not support them (SMTPUTF8).',
    advice: {
      final:
        'The address of this recipient is fine. Send the message again with ASCII addresses only in these headers.',
    },
  },
  sender_domain_lost: {
    summary:
      'The sender domain no longer belongs to this workspace, or its DKIM keys were deleted.',
    advice: { final: 'Add and verify the domain again, then retry the message.' },
  },
  content_gone: {
    summary: 'The content of this message has been deleted, so it cannot be sent.',
    advice: { final: 'Send a new message.' },
  },
  malformed_message: {
    summary: 'The message cannot be encoded as a valid email.',
    advice: { final: 'Check for unusual header values or attachments.' },
  },
  internal_error: {
    summary: 'An internal error occurred repeatedly with this message.',
    advice: {
      final:
        'The operator can find the cause in the server log. Retry the message once it is fixed.',
    },
  },
};

export const EXPLANATION_KEYS = Object.keys(EXPLANATIONS) as ExplanationKey[];
