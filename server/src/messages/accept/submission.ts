import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import { eventRow, type NewEvent } from '../../events/events-store.ts';
import type { Encryptor } from '../../lib/crypto/encryption.ts';
import type { AddressHash } from '../../suppressions/erased-address.ts';
import { encryptContent } from '../content/message-content.ts';
import { messageStatus } from '../message-status.ts';
import { addressDomain, queueShardOf } from '../queue-shard.ts';
import { isSimulatedSuppression } from '../simulator-address.ts';
import {
  type AttachmentRow,
  type DeliveryRow,
  findSuppressionReasons,
  type GroupRows,
  type KeyRow,
  type MessageIdRow,
  type MessageRow,
  type RecipientRef,
  suppressionKey,
} from './accept-store.ts';
import type { AcceptedMessage, AcceptedRecipient } from './accepted-message.ts';
import type { HandedOffMessage, Lease } from './delivery-handoff.ts';
import type { IdempotencyRequest } from './idempotency.ts';
import type { PreparedMessage } from './prepare-message.ts';

/** The messages of one request on their way into the database. */
export interface Submission {
  key: IdempotencyRequest | undefined;
  /** The text that a repeated request reads instead of sending again. */
  serialize(accepted: AcceptedMessage[]): string;
  messages: PreparedMessage[];
  /** In the order of `messages`; known once their recipients' suppressions are. */
  accepted: AcceptedMessage[];
  /** What was stored for a repeated request; undefined without a key. */
  result: string | undefined;
}

/** Suppression reasons by suppressionKey. */
export type SuppressionReasons = ReadonlyMap<string, string>;

const NO_SUPPRESSIONS: SuppressionReasons = new Map();

/**
 * Most sends have one recipient who is not suppressed. They are written without a lookup, and the
 * insert reports when that was wrong. Batches and simulated suppressions are looked up first.
 */
export function canSkipSuppressionLookup({ messages }: Submission): boolean {
  const [message] = messages;
  return messages.length === 1 && message !== undefined && !hasSimulatedSuppression(message);
}

/** For submissions whose recipients are assumed not to be suppressed. */
export function assumeNoSuppressions(submissions: readonly Submission[]): SuppressionReasons {
  for (const one of submissions) setAccepted(one, NO_SUPPRESSIONS);
  return NO_SUPPRESSIONS;
}

/** Looks up all recipients of a group in the suppression list at once. */
export async function resolveSuppressions(
  pool: Pool,
  submissions: readonly Submission[],
  addressHash: AddressHash,
  nowMs: number,
): Promise<SuppressionReasons> {
  const suppressed = await findSuppressionReasons(
    pool,
    recipientRefs(submissions, addressHash),
    nowMs,
  );
  for (const one of submissions) {
    for (const message of one.messages) {
      if (!hasSimulatedSuppression(message)) continue;
      for (const { mailbox } of message.recipients) {
        if (!isSimulatedSuppression(mailbox.key)) continue;
        suppressed.set(suppressionKeyOf(message, mailbox.key), 'manual');
      }
    }
    setAccepted(one, suppressed);
  }
  return suppressed;
}

function setAccepted(submission: Submission, suppressed: SuppressionReasons): void {
  submission.accepted = submission.messages.map((one) => acceptedMessage(one, suppressed));
}

function hasSimulatedSuppression({ mode, recipients }: PreparedMessage): boolean {
  return mode === 'test' && recipients.some(({ mailbox }) => isSimulatedSuppression(mailbox.key));
}

/**
 * Recipients are hashed only where the workspace may have erased an address: hashing costs more
 * than everything else here.
 */
export function recipientRefs(
  submissions: readonly Submission[],
  addressHash: AddressHash,
  hasErased: (workspaceId: string) => boolean = () => true,
): RecipientRef[] {
  const refs: RecipientRef[] = [];
  for (const [submission, { messages }] of submissions.entries()) {
    for (const { workspaceId, mode, stream, recipients } of messages) {
      for (const { mailbox } of recipients) {
        const { key, domain } = mailbox;
        refs.push({
          workspace_id: workspaceId,
          mode,
          key,
          domain_key: `@${domain}`,
          hash_key: hasErased(workspaceId) ? addressHash(workspaceId, mode, key) : null,
          stream,
          submission,
        });
      }
    }
  }
  return refs;
}

function acceptedMessage(
  message: PreparedMessage,
  suppressed: SuppressionReasons,
): AcceptedMessage {
  const recipients = acceptedRecipients(message, suppressed);
  return {
    id: message.publicId,
    status: messageStatus(recipients.map((one) => one.status)),
    mode: message.mode,
    created_at: sqlTime(message.createdAtMs),
    scheduled_at: sqlTime(message.schedule.scheduledAtMs),
    template: message.template,
    stream: message.stream,
    recipients,
  };
}

/**
 * The rows of a group; deliveries are leased on insert when the delivery engine granted a lease. Each
 * array is filled in one pass, because joining those of single requests would cost every send more than
 * some of its rows.
 */
export function groupRows(
  submissions: readonly Submission[],
  lease: Lease | undefined,
  encryptor: Encryptor,
): GroupRows {
  const rows: GroupRows = {
    keys: [],
    messages: [],
    attachments: [],
    messageIds: [],
    deliveries: [],
    events: [],
  };
  for (const [index, submission] of submissions.entries()) {
    if (submission.key) rows.keys.push(keyRow(submission, submission.key, index));
    for (const [at, message] of submission.messages.entries()) {
      const { recipients } = submission.accepted[at] as AcceptedMessage;
      rows.messages.push(messageRow(message, index, encryptor));
      addAttachmentRows(rows.attachments, message, index);
      if (message.messageId !== null && message.hasUniqueMessageId)
        rows.messageIds.push(messageIdRow(message, message.messageId, index));
      addDeliveryRows(rows.deliveries, message, recipients, lease, index);
      for (const event of acceptanceEvents(message, recipients))
        rows.events.push({ ...eventRow(event), submission: index });
    }
  }
  return rows;
}

function keyRow(submission: Submission, key: IdempotencyRequest, index: number): KeyRow {
  submission.result = submission.serialize(submission.accepted);
  return {
    workspace_id: key.workspaceId,
    mode: key.mode,
    key: key.key,
    request_hash: key.requestHash,
    result: submission.result,
    created_at: (submission.messages[0] as PreparedMessage).createdAtMs,
    submission: index,
  };
}

function addAttachmentRows(
  rows: AttachmentRow[],
  { workspaceId, mode, id, content }: PreparedMessage,
  submission: number,
): void {
  for (const [ordinal, file] of content.attachments.entries()) {
    rows.push({
      workspace_id: workspaceId,
      mode,
      message_id: id,
      ordinal,
      filename: file.filename,
      content_type: file.contentType,
      content_id: file.contentId ?? null,
      content: file.content,
      submission,
    });
  }
}

/** Whether it is sent as soon as it is stored, and may be leased on insert. */
export function isDueNow({ schedule, notBeforeMs }: PreparedMessage): boolean {
  return schedule.scheduledAtMs === null && notBeforeMs === null;
}

/** What the delivery engine gets in memory: the deliveries that are due now. */
export function messagesToHandOff(
  submission: Submission,
  suppressed: SuppressionReasons,
): HandedOffMessage[] {
  return submission.messages
    .filter(isDueNow)
    .map((message) => ({
      workspaceId: message.workspaceId,
      mode: message.mode,
      messageId: message.id,
      createdAtMs: message.createdAtMs,
      hasTtl: message.ttlSeconds !== null,
      stream: message.stream,
      route: message.route,
      tags: message.tags,
      metadata: message.metadata,
      content: message.content,
      deliveries: message.recipients.flatMap(({ kind, mailbox }, ordinal) => {
        if (suppressionReason(message, mailbox.key, suppressed) !== undefined) return [];
        const { expiresAtMs } = message.schedule;
        return [{ ordinal, recipient: mailbox.email, isBlindCopy: kind === 'bcc', expiresAtMs }];
      }),
    }))
    .filter((message) => message.deliveries.length > 0);
}

function acceptedRecipients(
  message: PreparedMessage,
  suppressed: SuppressionReasons,
): AcceptedRecipient[] {
  const waiting = message.schedule.scheduledAtMs === null ? 'queued' : 'scheduled';
  return message.recipients.map(({ kind, mailbox }) => {
    const reason = suppressionReason(message, mailbox.key, suppressed);
    return reason === undefined
      ? { email: mailbox.email, kind, status: waiting }
      : { email: mailbox.email, kind, status: 'suppressed', reason };
  });
}

function suppressionReason(
  message: PreparedMessage,
  recipientKey: string,
  suppressed: SuppressionReasons,
): string | undefined {
  if (suppressed.size === 0) return undefined;
  return suppressed.get(suppressionKeyOf(message, recipientKey));
}

function suppressionKeyOf(
  { workspaceId, mode, stream }: PreparedMessage,
  recipientKey: string,
): string {
  return suppressionKey(workspaceId, mode, stream, recipientKey);
}

function messageRow(
  message: PreparedMessage,
  submission: number,
  encryptor: Encryptor,
): MessageRow {
  const { content, redactedContent } = message;
  return {
    workspace_id: message.workspaceId,
    mode: message.mode,
    id: message.id,
    created_at: message.createdAtMs,
    scheduled_at: message.schedule.scheduledAtMs,
    sender: redactedContent.head.from.email,
    sender_name: redactedContent.head.from.name ?? null,
    subject: redactedContent.subject,
    template_key: message.template?.key ?? null,
    // Version 0 is a draft; published versions start at 1.
    template_version: message.template
      ? message.template.version === 'draft'
        ? 0
        : message.template.version
      : null,
    stream: message.stream,
    tags: arrayLiteral(message.tags),
    metadata: JSON.stringify(message.metadata),
    ttl_seconds: message.ttlSeconds,
    api_key_id: message.keyId,
    header_message_id: message.messageId,
    head: JSON.stringify(redactedContent.head),
    html: redactedContent.html,
    text: redactedContent.text,
    encrypted_content: redactedContent === content ? null : encryptContent(encryptor, content),
    submission,
  };
}

function messageIdRow(
  message: PreparedMessage,
  messageId: string,
  submission: number,
): MessageIdRow {
  return {
    workspace_id: message.workspaceId,
    mode: message.mode,
    header_message_id: messageId,
    created_at: message.createdAtMs,
    submission,
  };
}

function arrayLiteral(items: readonly string[]): string {
  if (items.length === 0) return '{}';
  const quoted = items.map((item) => `"${item.replaceAll(/["\\]/g, '\\$&')}"`);
  return `{${quoted.join(',')}}`;
}

function addDeliveryRows(
  rows: DeliveryRow[],
  message: PreparedMessage,
  accepted: readonly AcceptedRecipient[],
  lease: Lease | undefined,
  submission: number,
): void {
  const { scheduledAtMs, expiresAtMs } = message.schedule;
  const eventCount = sharedEventCount(message);
  const leased = isDueNow(message) ? lease : undefined;
  const dueAtMs = leased?.endsAtMs ?? scheduledAtMs ?? message.notBeforeMs ?? message.createdAtMs;
  for (const [ordinal, { kind, mailbox }] of message.recipients.entries()) {
    const { status, reason = null } = accepted[ordinal] as AcceptedRecipient;
    rows.push({
      workspace_id: message.workspaceId,
      mode: message.mode,
      message_id: message.id,
      ordinal,
      kind,
      recipient: mailbox.email,
      recipient_key: mailbox.key,
      recipient_name: mailbox.name ?? null,
      status,
      reason,
      shard: queueShardOf(addressDomain(mailbox.key)),
      due_at: reason !== null ? null : dueAtMs,
      lease: reason !== null ? null : (leased?.token ?? null),
      event_sequence: reason !== null ? eventCount + 1 : eventCount,
      expires_at: expiresAtMs,
      finished_at: reason !== null ? message.createdAtMs : null,
      submission,
    });
  }
}

/** The number of events that concern every recipient: accepted, and scheduled if it is. */
function sharedEventCount(message: PreparedMessage): number {
  return message.schedule.scheduledAtMs === null ? 1 : 2;
}

function acceptanceEvents(
  message: PreparedMessage,
  recipients: readonly AcceptedRecipient[],
): NewEvent[] {
  const shared = {
    workspaceId: message.workspaceId,
    mode: message.mode,
    atMs: message.createdAtMs,
    messageId: message.id,
  };
  const { metadata, tags, stream } = message;
  const scheduledAt = sqlTime(message.schedule.scheduledAtMs);
  const about = { message_id: message.publicId, stream, metadata, tags };
  const events: NewEvent[] = [
    {
      ...shared,
      type: 'message.accepted',
      sequence: 1,
      data: {
        ...about,
        from: message.content.head.from.email,
        subject: message.redactedContent.subject,
        scheduled_at: scheduledAt,
        template: message.template,
        content_bytes: message.contentBytes,
        recipients,
      },
    },
  ];
  if (scheduledAt !== null) {
    const data = { ...about, scheduled_at: scheduledAt };
    events.push({ ...shared, type: 'message.scheduled', sequence: 2, data });
  }
  for (const recipient of recipients) {
    if (recipient.status !== 'suppressed') continue;
    events.push({
      ...shared,
      type: 'message.suppressed',
      sequence: sharedEventCount(message) + 1,
      data: { ...about, recipient: recipient.email, attempt: 0, reason: recipient.reason },
    });
  }
  return events;
}
