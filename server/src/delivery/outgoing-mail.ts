import { isStorageGone } from '../db/storage-gone.ts';
import { assert } from '../lib/assert.ts';
import { type DkimKey, signDkim } from '../mail/dkim/sign.ts';
import { compose, needsSmtpUtf8 } from '../mail/mime/compose.ts';
import { outgoingOf } from '../messages/content/message-content.ts';
import { domainOf } from '../messages/queue-shard.ts';
import type { Message } from './delivery.ts';

/** What the engine asks about a sender's domain: domains/signing-domain-cache.ts answers. */
export interface SenderDomains {
  /** Undefined when the workspace has no such domain (any more). */
  settingsFor(workspaceId: string, domain: string): Promise<SenderSettings | undefined>;
  /** Throws rather than giving none: nothing may leave unsigned. */
  keysFor(workspaceId: string, domain: string): Promise<DkimKey[]>;
}

export interface SenderSettings {
  /** False once the domain has failed: what still waits must not leave. */
  maySend: boolean;
  /** `required`: mail of this domain leaves encrypted or not at all. */
  tls: 'opportunistic' | 'required';
  /** The host of the return path, aligned with the domain for SPF. */
  returnPathHost: string;
  /** Why the operator has stopped the mail of the workspace: what waits stays until he lets it go. */
  suspensionReason?: string | null;
  /** For measurements alone, and only by an explicit word: without keys nothing leaves. */
  unsigned?: boolean;
}

/** A message as bytes, the same for all its recipients and all its tries. */
export interface OutgoingMail {
  kind: 'mail';
  data: readonly Buffer[];
  smtpUtf8: boolean;
  sender: SenderSettings;
  /** The DKIM-Signature lines in `data`, to be kept for the next try. */
  signature: string;
}

export type PreparedMail =
  | OutgoingMail
  | { kind: 'unsigned'; detail: string }
  | { kind: 'suspended'; detail: string }
  | { kind: 'unsendable'; reason: 'sender_domain_lost' | 'malformed_message'; detail: string };

/** The database is gone, so nothing is known of the sender: that is no try, and nobody's fault. */
export class NotPreparedError extends Error {
  override name = 'NotPreparedError';

  constructor(cause: unknown) {
    super('The sender could not be looked up', { cause });
  }
}

/** Prepares a message once, however many recipients and domains it has. */
export function prepareMessage(message: Message, senders: SenderDomains): Promise<PreparedMail> {
  message.prepared ??= prepareMail(message, senders);
  return message.prepared as Promise<PreparedMail>;
}

async function prepareMail(message: Message, senders: SenderDomains): Promise<PreparedMail> {
  const { content } = message;
  assert(content, 'the content is read before the attempt');
  const domain = domainOf(content.head.from.email);
  let sender: SenderSettings | undefined;
  try {
    sender = await senders.settingsFor(message.workspaceId, domain);
  } catch (error) {
    if (isStorageGone(error)) throw new NotPreparedError(error);
    return { kind: 'unsigned', detail: `${domain} could not be looked up: ${errorText(error)}` };
  }
  if (!sender?.maySend) {
    const detail = `The workspace may not send for ${domain} any more.`;
    return { kind: 'unsendable', reason: 'sender_domain_lost', detail };
  }
  if (typeof sender.suspensionReason === 'string') {
    const detail = `The operator has suspended the mail of this workspace: ${sender.suspensionReason}`;
    return { kind: 'suspended', detail };
  }
  const outgoing = outgoingOf(message.id, message.dateMs, content);
  const raw = compose(outgoing);
  const signature = sender.unsigned
    ? ''
    : (message.signature ?? (await sign(message, raw, domain, senders)));
  if (typeof signature !== 'string') return signature;
  const data = [Buffer.from(signature, 'latin1'), raw];
  return { kind: 'mail', data, smtpUtf8: needsSmtpUtf8(outgoing), sender, signature };
}

/** If we fail to sign, nothing leaves: unsigned mail would be refused, or worse, believed. */
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
    if (isStorageGone(error)) throw new NotPreparedError(error);
    return { kind: 'unsigned', detail: `Signing failed: ${errorText(error)}` };
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
