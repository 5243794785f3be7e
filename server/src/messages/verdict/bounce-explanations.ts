import type { BounceReason } from '../../events/event-types.ts';
import type { FailureReason } from './verdict.ts';

/**
 * What the sender reads: what happened, and what to do when there is something to do. Two endings,
 * because "we try again" and "it has ended" are different news.
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
  | 'unsigned';

export function explain(key: ExplanationKey, ending: 'deferred' | 'bounced' | 'failed'): string {
  const { summary, advice } = EXPLANATIONS[key];
  if (ending === 'deferred') return `${summary} ${advice?.deferred ?? 'We try again later.'}`;
  return advice?.final ? `${summary} ${advice.final}` : summary;
}

interface Explanation {
  summary: string;
  advice?: { deferred?: string; final?: string };
}

const EXPLANATIONS: Record<ExplanationKey, Explanation> = {
  unknown_mailbox: {
    summary: 'The mailbox does not exist.',
    advice: {
      deferred: 'The receiver says that this may change. We try again later.',
      final: 'Check the address for a typing mistake; do not send to it again.',
    },
  },
  mailbox_full: {
    summary: 'The mailbox is full.',
    advice: { final: 'Try again when the recipient has made room.' },
  },
  mailbox_disabled: {
    summary: 'The mailbox exists but is disabled.',
    advice: { final: 'Ask the recipient for another address.' },
  },
  unknown_domain: {
    summary: 'The domain of the address takes no mail or does not exist.',
    advice: { final: 'Check the part after the @ for a typing mistake.' },
  },
  blocked_reputation: {
    summary: 'The receiver does not trust the network address that the mail came from.',
    advice: {
      final:
        'The words of the receiver below tell why. Ask the receiver to lift the block, and look for complaints and bounces in recent mail.',
    },
  },
  blocked_policy: {
    summary: 'A rule of the receiver forbids this mail.',
    advice: {
      final:
        'The words of the receiver below may tell which one; its postmaster can make an exception.',
    },
  },
  authentication_failed: {
    summary: 'The receiver could not verify that the mail comes from its sender domain.',
    advice: {
      final:
        'Check the SPF, DKIM and DMARC records of the domain: the domain page shows which is wrong.',
    },
  },
  content_rejected: {
    summary: 'The receiver refused the content of the message.',
    advice: { final: 'Look at links, attachments and wording; filters judged them as unwanted.' },
  },
  message_too_large: {
    summary: 'The message is larger than the receiver takes.',
    advice: { final: 'Send smaller attachments, or a link in their place.' },
  },
  rate_limited: {
    summary: 'The receiver takes no more mail from us, or for this mailbox, at the moment.',
    advice: { deferred: 'We slow down and try again later.', final: 'Try again later.' },
  },
  greylisted: {
    summary: 'The receiver asks every unknown sender to come back a little later.',
    advice: {
      deferred: 'This is usual. We try again in a few minutes.',
      final: 'Try again later.',
    },
  },
  relaying_denied: {
    summary: 'The receiving server says that it is not responsible for this domain.',
    advice: {
      final:
        'Its owner must correct the MX records of the domain or the configuration of the server.',
    },
  },
  network_unreachable: {
    summary: 'No mail server of the receiving domain could be reached.',
  },
  connection_lost: {
    summary: 'The connection to the receiver broke off.',
  },
  timed_out: {
    summary: 'The receiver did not answer in time.',
  },
  tls_required: {
    summary:
      'The mail may only travel encrypted, and no encrypted connection to the receiver came about.',
    advice: { final: 'The receiver must offer TLS, or the sending domain must stop requiring it.' },
  },
  tls_failed: {
    summary: 'The encrypted connection to the receiver failed.',
  },
  smtputf8_unsupported: {
    summary:
      'The address has characters outside of ASCII before the @, and the receiver cannot take such addresses (5.6.7).',
    advice: { final: 'Ask the recipient for an address in plain letters.' },
  },
  protocol_error: {
    summary: 'The receiver answered in a way that mail servers do not understand.',
  },
  unknown: {
    summary: 'The receiver refused the mail without a reason that we know.',
    advice: {
      deferred: 'Its words are shown below. We try again later.',
      final: 'Its words are shown below.',
    },
  },
  ambiguous: {
    summary:
      'The whole message was handed over, but the receiver did not confirm it: it may have arrived.',
    advice: {
      deferred:
        'We send it again with the same Message-ID, so that the receiver can tell a double.',
    },
  },
  blocklisted: {
    summary: 'The network address that the mail came from is on a public blocklist.',
    advice: {
      final:
        'The words of the receiver below name the list: its page tells why and how to leave it.',
    },
  },
  busy: { summary: 'The receiver is busy or has a passing fault.' },
  certificate: {
    summary:
      'The receiver must prove its identity by a certificate, and the one it showed is not valid for it.',
  },
  dnsFailed: {
    summary: 'The name servers of the receiving domain do not answer, or answer with an error.',
  },
  domainNotFound: {
    summary: 'The domain of the address does not exist.',
    advice: { final: 'Check the part after the @ for a typing mistake.' },
  },
  eightBit: { summary: 'The receiver takes plain ASCII mail only, and this message is not.' },
  heloRefused: {
    summary: 'The receiver does not accept the name that our server greets with (HELO).',
    advice: {
      deferred:
        'The operator should set HELO_NAME to a name with an address record. We try again later.',
      final:
        'The operator should set HELO_NAME to a name whose address is that of the server, and back.',
    },
  },
  loop: {
    summary:
      'The receiving domain names this very server as its mail server, which would send the mail round in circles.',
    advice: { final: 'Its owner must correct the MX records.' },
  },
  noAddress: {
    summary: 'The receiving domain names no mail server that can be reached.',
    advice: { final: 'Its owner must correct the MX and address records.' },
  },
  noRelay: {
    summary: 'No relay could be reached.',
    advice: { deferred: 'The operator should check DELIVERY_ROUTE. We try again later.' },
  },
  nullMx: {
    summary: 'The domain says that it takes no mail at all.',
    advice: { final: 'Check the part after the @ for a typing mistake; do not send to it again.' },
  },
  outOfReach: {
    summary:
      'The mail servers of the receiving domain have only addresses of a kind that mail does not leave here by.',
    advice: { deferred: 'The operator should check OUTGOING_ADDRESSES. We try again later.' },
  },
  receiverLoop: { summary: 'The mail goes round in circles inside the receiving system.' },
  receiverNetwork: { summary: 'The receiver could not pass the mail on inside its own network.' },
  relayPassword: {
    summary:
      'The relay did not let us send: it asks for another user name, password or permission.',
    advice: { deferred: 'The operator should check DELIVERY_ROUTE. We try again later.' },
  },
  relayTooLarge: {
    summary: 'The message is larger than the relay takes.',
    advice: { final: 'Send smaller attachments, or a link in their place.' },
  },
  reverseDns: {
    summary: 'The network address that the mail came from has no proper name (reverse DNS).',
    advice: {
      deferred: 'The operator should set its PTR record. We try again later.',
      final: 'The operator should set its PTR record to the name that the server gives itself.',
    },
  },
  senderRefused: {
    summary: 'The receiver does not accept the sender address.',
    advice: {
      final: 'Check that the sender domain exists, takes mail and has its records published.',
    },
  },
  suspended: {
    summary: 'The operator of this server has suspended the mail of this workspace.',
    advice: { deferred: 'It leaves when he resumes it, unless its time is over before.' },
  },
  unsigned: {
    summary: 'The message could not be signed, and nothing leaves unsigned.',
    advice: { deferred: 'This is a fault of ours. We try again later.' },
  },
  sender_domain_lost: {
    summary: 'The sender domain no longer belongs to the workspace, or its keys are gone.',
    advice: { final: 'Add the domain again and verify it, then retry the message.' },
  },
  content_gone: {
    summary: 'The content of the message is no longer kept, so there is nothing to send.',
    advice: { final: 'Send it as a new message.' },
  },
  malformed_message: {
    summary: 'The message cannot be written down in a form that mail servers accept.',
    advice: { final: 'Look for unusual header values or attachments.' },
  },
  internal_error: {
    summary: 'Something of ours failed again and again with this message.',
    advice: { final: 'The log of the server tells more; retry when it is mended.' },
  },
};
