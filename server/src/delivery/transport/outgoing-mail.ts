import { MOVING_HOLD } from '../../accounts/held-mail-source.ts';
import { isConnectionError } from '../../db/connections/database-errors.ts';
import { assert } from '../../lib/assert.ts';
import { type DkimKey, signDkim } from '../../mail/dkim/sign.ts';
import { compose, needsSmtpUtf8 } from '../../mail/mime/compose.ts';
import { toOutgoing } from '../../messages/content/message-content.ts';
import { addressDomain } from '../../messages/queue-shard.ts';
import type { Message } from '../delivery.ts';

/** What the engine needs to know about a sender domain; see domains/signing-domain-cache.ts. */
export interface SenderDomains {
  /** Undefined when the workspace does not have this domain (any more). */
  settingsFor(workspaceId: string, domain: string): Promise<SenderSettings | undefined>;
  /** Throws when there are no keys: nothing may be sent unsigned. */
  keysFor(workspaceId: string, domain: string): Promise<DkimKey[]>;
}

export interface SenderSettings {
  /** False once verification of the domain has failed: queued mail must not be sent either. */
  maySend: boolean;
  /** `required`: mail of this domain is sent only over TLS. */
  tls: 'opportunistic' | 'required';
  /** The host of the return path, aligned with the domain for SPF. */
  returnPathHost: string;
  /** Why the operator has suspended the workspace; queued mail is held until it is resumed. */
  suspensionReason?: string | null;
  /** For benchmarks only, and explicit: without keys nothing is sent. */
  unsigned?: boolean;
}

/** A message as bytes, the same for all recipients and attempts. */
export interface OutgoingMail {
  kind: 'mail';
  data: readonly Buffer[];
  smtpUtf8: boolean;
  sender: SenderSettings;
  /** The DKIM-Signature header lines in `data`, kept for the next attempt. */
  signature: string;
}

export type PreparedMail =
  | OutgoingMail
  | { kind: 'unsigned'; detail: string }
  | { kind: 'suspended'; detail: string }
  | { kind: 'unsendable'; reason: 'sender_domain_lost' | 'malformed_message'; detail: string };

/**
 * The database is unavailable, so nothing is known about the sender or about the warm-up of its
 * address, or the workspace has just been closed, because it moves to another installation. This does
 * not count as an attempt.
 */
export class NotPreparedError extends Error {
  override name = 'NotPreparedError';

  constructor(cause: unknown, message = 'The sender domain could not be loaded') {
    super(message, { cause });
  }
}

/** Prepares a message once, however many recipients and domains it has. */
export function prepareMessage(message: Message, senders: SenderDomains): Promise<PreparedMail> {
  message.prepared ??= prepareMail(message, senders);
  return message.prepared as Promise<PreparedMail>;
}

async function prepareMail(message: Message, senders: SenderDomains): Promise<PreparedMail> {
  const { content } = message;
  assert(content, 'content is loaded before the attempt');
  const domain = addressDomain(content.head.from.email);
  let sender: SenderSettings | undefined;
  try {
    sender = await senders.settingsFor(message.workspaceId, domain);
  } catch (error) {
    if (isConnectionError(error)) throw new NotPreparedError(error);
    return {
      kind: 'unsigned',
      detail: `Loading the settings of ${domain} failed: ${errorText(error)}`,
    };
  }
  if (!sender?.maySend) {
    const detail = `The workspace may no longer send from ${domain}.`;
    return { kind: 'unsendable', reason: 'sender_domain_lost', detail };
  }
  if (sender.suspensionReason === MOVING_HOLD) {
    throw new NotPreparedError(new Error('the workspace is being moved'));
  }
  if (typeof sender.suspensionReason === 'string') {
    const detail = `Live mail of this workspace is held: ${sender.suspensionReason}`;
    return { kind: 'suspended', detail };
  }
  const outgoing = toOutgoing(message.id, message.dateMs, content);
  const raw = compose(outgoing);
  const signature = sender.unsigned
    ? ''
    : (message.signature ?? (await sign(message, raw, domain, senders)));
  if (typeof signature !== 'string') return signature;
  const data = [Buffer.from(signature, 'latin1'), raw];
  return { kind: 'mail', data, smtpUtf8: needsSmtpUtf8(outgoing), sender, signature };
}

/**
 * If signing fails, nothing is sent: unsigned mail would be rejected or hurt the domain's
 * reputation.
 */
async function sign(
  message: Message,
  raw: Buffer,
  domain: string,
  senders: SenderDomains,
): Promise<string | { kind: 'unsigned'; detail: string }> {
  try {
    const keys = await senders.keysFor(message.workspaceId, domain);
    const signature = await signDkim(raw, keys, { dateMs: message.dateMs });
    if (signature !== '') return signature;
    return { kind: 'unsigned', detail: 'The sender domain has no signing key.' };
  } catch (error) {
    if (isConnectionError(error)) throw new NotPreparedError(error);
    return { kind: 'unsigned', detail: `Signing failed: ${errorText(error)}` };
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
