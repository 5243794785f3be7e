import type { BounceReason } from '../../events/event-types.ts';
import type { FailureReason } from './verdict.ts';

/**
 * What the sender reads: what happened, and what to do when there is something to do. Two endings,
 * because "we try again" and "it has ended" are different news.
 */
export type Words =
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
  | 'unsigned';

export function explain(words: Words, ending: 'deferred' | 'bounced' | 'failed'): string {
  const { what, advice } = WORDS[words];
  if (ending === 'deferred') return `${what} ${advice?.deferred ?? 'We try again later.'}`;
  return advice?.ended ? `${what} ${advice.ended}` : what;
}

interface Sentences {
  what: string;
  advice?: { deferred?: string; ended?: string };
}

const WORDS: Record<Words, Sentences> = {
  unknown_mailbox: {
    what: 'The mailbox does not exist.',
    advice: {
      deferred: 'The receiver says that this may change. We try again later.',
      ended: 'Check the address for a typing mistake; do not send to it again.',
    },
  },
  mailbox_full: {
    what: 'The mailbox is full.',
    advice: { ended: 'Try again when the recipient has made room.' },
  },
  mailbox_disabled: {
    what: 'The mailbox exists but is disabled.',
    advice: { ended: 'Ask the recipient for another address.' },
  },
  unknown_domain: {
    what: 'The domain of the address takes no mail or does not exist.',
    advice: { ended: 'Check the part after the @ for a typing mistake.' },
  },
  blocked_reputation: {
    what: 'The receiver does not trust the network address that the mail came from.',
    advice: {
      ended:
        'The words of the receiver below tell why. Ask the receiver to lift the block, and look for complaints and bounces in recent mail.',
    },
  },
  blocked_policy: {
    what: 'A rule of the receiver forbids this mail.',
    advice: {
      ended:
        'The words of the receiver below may tell which one; its postmaster can make an exception.',
    },
  },
  authentication_failed: {
    what: 'The receiver could not verify that the mail comes from its sender domain.',
    advice: {
      ended:
        'Check the SPF, DKIM and DMARC records of the domain: the domain page shows which is wrong.',
    },
  },
  content_rejected: {
    what: 'The receiver refused the content of the message.',
    advice: { ended: 'Look at links, attachments and wording; filters judged them as unwanted.' },
  },
  message_too_large: {
    what: 'The message is larger than the receiver takes.',
    advice: { ended: 'Send smaller attachments, or a link in their place.' },
  },
  rate_limited: {
    what: 'The receiver takes no more mail from us, or for this mailbox, at the moment.',
    advice: { deferred: 'We slow down and try again later.', ended: 'Try again later.' },
  },
  greylisted: {
    what: 'The receiver asks every unknown sender to come back a little later.',
    advice: {
      deferred: 'This is usual. We try again in a few minutes.',
      ended: 'Try again later.',
    },
  },
  relaying_denied: {
    what: 'The receiving server says that it is not responsible for this domain.',
    advice: {
      ended:
        'Its owner must correct the MX records of the domain or the configuration of the server.',
    },
  },
  network_unreachable: {
    what: 'No mail server of the receiving domain could be reached.',
  },
  connection_lost: {
    what: 'The connection to the receiver broke off.',
  },
  timed_out: {
    what: 'The receiver did not answer in time.',
  },
  tls_required: {
    what: 'The mail may only travel encrypted, and no encrypted connection to the receiver came about.',
    advice: { ended: 'The receiver must offer TLS, or the sending domain must stop requiring it.' },
  },
  tls_failed: {
    what: 'The encrypted connection to the receiver failed.',
  },
  smtputf8_unsupported: {
    what: 'The address has characters outside of ASCII before the @, and the receiver cannot take such addresses (5.6.7).',
    advice: { ended: 'Ask the recipient for an address in plain letters.' },
  },
  protocol_error: {
    what: 'The receiver answered in a way that mail servers do not understand.',
  },
  unknown: {
    what: 'The receiver refused the mail without a reason that we know.',
    advice: {
      deferred: 'Its words are shown below. We try again later.',
      ended: 'Its words are shown below.',
    },
  },
  ambiguous: {
    what: 'The whole message was handed over, but the receiver did not confirm it: it may have arrived.',
    advice: {
      deferred:
        'We send it again with the same Message-ID, so that the receiver can tell a double.',
    },
  },
  blocklisted: {
    what: 'The network address that the mail came from is on a public blocklist.',
    advice: {
      ended:
        'The words of the receiver below name the list: its page tells why and how to leave it.',
    },
  },
  busy: { what: 'The receiver is busy or has a passing fault.' },
  certificate: {
    what: 'The receiver must prove its identity by a certificate, and the one it showed is not valid for it.',
  },
  dnsFailed: {
    what: 'The name servers of the receiving domain do not answer, or answer with an error.',
  },
  domainNotFound: {
    what: 'The domain of the address does not exist.',
    advice: { ended: 'Check the part after the @ for a typing mistake.' },
  },
  eightBit: { what: 'The receiver takes plain ASCII mail only, and this message is not.' },
  heloRefused: {
    what: 'The receiver does not accept the name that our server greets with (HELO).',
    advice: {
      deferred:
        'The operator should set HELO_NAME to a name with an address record. We try again later.',
      ended:
        'The operator should set HELO_NAME to a name whose address is that of the server, and back.',
    },
  },
  loop: {
    what: 'The receiving domain names this very server as its mail server, which would send the mail round in circles.',
    advice: { ended: 'Its owner must correct the MX records.' },
  },
  noAddress: {
    what: 'The receiving domain names no mail server that can be reached.',
    advice: { ended: 'Its owner must correct the MX and address records.' },
  },
  noRelay: {
    what: 'No relay could be reached.',
    advice: { deferred: 'The operator should check DELIVERY_ROUTE. We try again later.' },
  },
  nullMx: {
    what: 'The domain says that it takes no mail at all.',
    advice: { ended: 'Check the part after the @ for a typing mistake; do not send to it again.' },
  },
  outOfReach: {
    what: 'The mail servers of the receiving domain have only addresses of a kind that mail does not leave here by.',
    advice: { deferred: 'The operator should check OUTGOING_ADDRESSES. We try again later.' },
  },
  receiverLoop: { what: 'The mail goes round in circles inside the receiving system.' },
  receiverNetwork: { what: 'The receiver could not pass the mail on inside its own network.' },
  relayPassword: {
    what: 'The relay did not let us send: it asks for another user name, password or permission.',
    advice: { deferred: 'The operator should check DELIVERY_ROUTE. We try again later.' },
  },
  relayTooLarge: {
    what: 'The message is larger than the relay takes.',
    advice: { ended: 'Send smaller attachments, or a link in their place.' },
  },
  reverseDns: {
    what: 'The network address that the mail came from has no proper name (reverse DNS).',
    advice: {
      deferred: 'The operator should set its PTR record. We try again later.',
      ended: 'The operator should set its PTR record to the name that the server gives itself.',
    },
  },
  senderRefused: {
    what: 'The receiver does not accept the sender address.',
    advice: {
      ended: 'Check that the sender domain exists, takes mail and has its records published.',
    },
  },
  suspended: {
    what: 'The operator of this server has suspended the mail of this workspace.',
    advice: { deferred: 'It leaves when he resumes it, unless its time is over before.' },
  },
  unsigned: {
    what: 'The message could not be signed, and nothing leaves unsigned.',
    advice: { deferred: 'This is a fault of ours. We try again later.' },
  },
  sender_domain_lost: {
    what: 'The sender domain no longer belongs to the workspace, or its keys are gone.',
    advice: { ended: 'Add the domain again and verify it, then retry the message.' },
  },
  content_gone: {
    what: 'The content of the message is no longer kept, so there is nothing to send.',
    advice: { ended: 'Send it as a new message.' },
  },
  malformed_message: {
    what: 'The message cannot be written down in a form that mail servers accept.',
    advice: { ended: 'Look for unusual header values or attachments.' },
  },
  internal_fault: {
    what: 'Something of ours failed again and again with this message.',
    advice: { ended: 'The log of the server tells more; retry when it is mended.' },
  },
};
