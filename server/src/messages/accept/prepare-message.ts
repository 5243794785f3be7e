import type { Caller } from '../../accounts/caller.ts';
import { MOVING_HOLD } from '../../accounts/held-mail-source.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { WorkspaceMovingError } from '../../accounts/workspace-moving.ts';
import type { SenderDomain } from '../../domains/domain.ts';
import { newIdPair } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { NamedMailbox } from '../../mail/address.ts';
import type { Stream } from '../../streams/stream.ts';
import type {
  AttachmentSummary,
  ContentHead,
  MessageContent,
  StoredAddress,
} from '../content/message-content.ts';
import {
  type Draft,
  type RenderOptions,
  type RenderParts,
  renderMessageContent,
} from '../content/render-content.ts';
import type { RenderedFields } from '../content/rendered-content.ts';
import { checkFields, emptyBody, hasEmptyBody } from './check-fields.ts';
import { FieldErrors } from './field-errors.ts';
import { MessageStream, type MessageStreamParts } from './message-stream.ts';
import type { Envelope, Recipient } from './parse-envelope.ts';
import type { Schedule } from './parse-options.ts';
import { type SendLimits, submittedMailLimits } from './send-limits.ts';
import type { SendRequest } from './send-request.ts';

/**
 * Turns a request into a message that only needs to be stored: addresses are parsed, permissions
 * are checked, placeholders are rendered. It reads but never writes. It throws a RefusedError that
 * lists all problems.
 */

export interface PrepareParts extends RenderParts, MessageStreamParts {
  /** The sending domain of this name, if the workspace has one. */
  senderDomain(
    workspaceId: string,
    name: string,
  ): SenderDomain | undefined | Promise<SenderDomain | undefined>;
  track: TrackContent;
}

export interface PreparedMessage {
  workspaceId: string;
  mode: Mode;
  id: string;
  /** The id in its public form, which most steps need. */
  publicId: string;
  createdAtMs: number;
  keyId: string | null;
  /** The caller's own, without angle brackets; null for a generated one. */
  messageId: string | null;
  hasUniqueMessageId: boolean;
  template: { key: string; version: number | 'draft' } | null;
  /** The key of its stream. */
  stream: string;
  /** The named route of its stream; null for the standard one. */
  route: string | null;
  /** The rate of its stream; null for none. */
  messagesPerMinute: number | null;
  /** When it may be sent, if its stream makes it wait. */
  notBeforeMs: number | null;
  recipients: Recipient[];
  /** As delivered to the recipient. */
  content: MessageContent;
  /** Without secret values, for events and lookups. The same object when there are none. */
  redactedContent: MessageContent;
  tags: string[];
  metadata: Record<string, string>;
  schedule: Schedule;
  ttlSeconds: number | null;
  /** Of HTML, text and attachments. */
  contentBytes: number;
  /** Approximate size in memory and on disk. */
  bytes: number;
}

export interface PrepareOptions extends RenderOptions {
  /**
   * The content comes from a mail: only the total size of the headers is limited.
   */
  verbatim?: boolean;
  /**
   * The Message-ID of that mail. Unlike one in `headers`, it may repeat: mailing lists submit a
   * message once for each group of recipients.
   */
  messageId?: string | undefined;
  /** The body of that mail, when it must be sent as it is. It cannot be tracked. */
  original?: OriginalContent | undefined;
}

export interface OriginalContent {
  /** The Content-* header fields, each ending with CRLF. */
  header: string;
  body: Buffer;
  attachments: AttachmentSummary[];
}

export async function prepareMessage(
  given: PrepareParts,
  caller: Caller,
  request: SendRequest,
  options: PrepareOptions = {},
): Promise<PreparedMessage> {
  const parts = options.verbatim ? { ...given, limits: submittedMailLimits(given.limits) } : given;
  const createdAtMs = parts.clock.now();
  const { uuid: id, id: publicId } = newIdPair('msg', createdAtMs);
  const checked = checkFields(request, parts.limits, createdAtMs, caller.mode);
  const { envelope, headers, attachments, schedule } = checked;
  const messageId = checked.messageId ?? options.messageId ?? null;
  const ofMessage = new MessageStream(parts, caller, request, { messageId: id, envelope, headers });
  const draft: Draft = { ...options, publicId, envelope, headers, stream: ofMessage };
  const rendering = renderMessageContent(parts, caller, request, draft);
  // Awaiting a value that is already there would cost every send several microtasks.
  const rendered = rendering instanceof Promise ? await rendering : rendering;
  const { template } = rendered;
  if (parts.limits.bodyRequired && hasEmptyBody({ ...rendered.fields, attachments })) {
    throw emptyBody(request);
  }
  const resolving = ofMessage.resolve(rendered.templateStream);
  const stream = resolving instanceof Promise ? await resolving : resolving;
  const fields = ofMessage.withHeaders(rendered.fields);
  const redacted =
    rendered.redacted === rendered.fields ? fields : ofMessage.withHeaders(rendered.redacted);
  const finding = parts.senderDomain(caller.workspaceId, fields.from.domain);
  const domain = finding instanceof Promise ? await finding : finding;
  checkSender(caller, fields.from, domain);
  const { original } = options;
  const built = buildContent(envelope, fields, attachments, messageId);
  const untracked = original ? withOriginal(built, original) : built;
  const contentBytes = checkSize(parts.limits, untracked);
  const hasSecrets = redacted !== fields;
  const content =
    canBeTracked(envelope, hasSecrets) && !original
      ? withTracking(parts, caller, id, untracked, { request, stream, domain })
      : untracked;
  return {
    workspaceId: caller.workspaceId,
    mode: caller.mode,
    id,
    publicId,
    createdAtMs,
    keyId: caller.keyId ?? null,
    messageId,
    hasUniqueMessageId: checked.messageId !== null,
    template,
    stream: stream.key,
    route: stream.route,
    messagesPerMinute: stream.messagesPerMinute,
    notBeforeMs: null,
    recipients: envelope.recipients,
    content,
    redactedContent: hasSecrets
      ? buildContent(envelope, redacted, attachments, messageId)
      : content,
    tags: request.tags ? [...new Set(request.tags)] : [],
    metadata: request.metadata ?? {},
    schedule,
    ttlSeconds: request.ttl_seconds ?? null,
    contentBytes,
    bytes: contentBytes + OVERHEAD_BYTES,
  };
}

/** Ownership is decided on the parsed domain, the value that goes into header and envelope. */
function checkSender(caller: Caller, from: NamedMailbox, domain: SenderDomain | undefined): void {
  const { allowedDomains, mode } = caller;
  if (allowedDomains.length > 0 && !allowedDomains.includes(from.domain)) {
    throw new RefusedError(
      'domain_not_allowed',
      `This API key can send only from ${allowedDomains.join(', ')}, not from ${from.domain}.`,
    );
  }
  if (mode === 'test') return;
  if (!domain) {
    throw new RefusedError(
      'domain_not_owned',
      `${from.domain} is not a sending domain of this workspace.`,
    );
  }
  // The workspace was closed after the request had been authenticated.
  if (domain.suspendedFor === MOVING_HOLD) throw new WorkspaceMovingError();
  if (domain.suspendedFor !== null) {
    throw new RefusedError(
      'workspace_suspended',
      `Live sending is suspended for this workspace: ${domain.suspendedFor}`,
    );
  }
  if (!domain.maySend) {
    throw new RefusedError(
      'domain_not_verified',
      `${from.domain} is not verified: some of its DNS records are missing or wrong.`,
    );
  }
}

/**
 * All recipients of a message get the same bytes, so with several recipients an open could not be
 * attributed. Content with secrets is not tracked, because click events would expose them.
 */
function canBeTracked(envelope: Envelope, hasSecrets: boolean): boolean {
  return envelope.recipients.length === 1 && !hasSecrets;
}

function withTracking(
  parts: PrepareParts,
  { workspaceId, mode }: Caller,
  messageId: string,
  content: MessageContent,
  { request, stream, domain }: TrackingSettings,
): MessageContent {
  const wanted = requestedTracking({ request, stream, domain });
  if (!wanted.opens && !wanted.clicks) return content;
  const host = domain?.trackingHost ?? null;
  return parts.track(content, { workspaceId, mode, messageId, ...wanted, host });
}

function buildContent(
  envelope: Envelope,
  fields: RenderedFields,
  attachments: MessageContent['attachments'],
  messageId: string | null,
): MessageContent {
  const ofKind = (kind: Recipient['kind']): StoredAddress[] =>
    envelope.recipients.filter((one) => one.kind === kind).map((one) => storedAddress(one.mailbox));
  const head: ContentHead = {
    from: storedAddress(fields.from),
    to: ofKind('to'),
    cc: ofKind('cc'),
    reply_to: fields.replyTo.map(storedAddress),
    headers: fields.headers,
    ...(messageId === null ? {} : { message_id: messageId }),
  };
  const { subject, html, text } = fields;
  return { subject, head, html, text, attachments };
}

function withOriginal(
  content: MessageContent,
  { header, body, attachments }: OriginalContent,
): MessageContent {
  return {
    ...content,
    head: { ...content.head, original: { header, attachments } },
    attachments: [{ filename: 'body', contentType: 'application/octet-stream', content: body }],
  };
}

function storedAddress(mailbox: StoredAddress): StoredAddress {
  return mailbox.name === undefined
    ? { email: mailbox.email }
    : { email: mailbox.email, name: mailbox.name };
}

/** Allowance for headers, MIME boundaries and typical quoted-printable overhead. */
const OVERHEAD_BYTES = 4096;

function checkSize(limits: SendLimits, content: MessageContent): number {
  const errors = new FieldErrors();
  const htmlBytes = Buffer.byteLength(content.html);
  const textBytes = content.text === null ? 0 : Buffer.byteLength(content.text);
  const subjectBytes = Buffer.byteLength(content.subject);
  if (htmlBytes > limits.htmlBytesMax) {
    const detail = `html can have at most ${limits.htmlBytesMax} bytes; this one has ${htmlBytes}.`;
    errors.add('/html', 'too_long', detail);
  }
  if (textBytes > limits.textBytesMax) {
    const detail = `text can have at most ${limits.textBytesMax} bytes; this one has ${textBytes}.`;
    errors.add('/text', 'too_long', detail);
  }
  if (subjectBytes > limits.subjectBytesMax) {
    const detail = `The subject can have at most ${limits.subjectBytesMax} bytes; this one has ${subjectBytes}.`;
    errors.add('/subject', 'too_long', detail);
  }
  const fileBytes = content.attachments.reduce((sum, file) => sum + file.content.length, 0);
  // Base64 with line breaks takes 78 bytes for every 57.
  const encodedBytes = content.head.original
    ? fileBytes + OVERHEAD_BYTES
    : htmlBytes + textBytes + OVERHEAD_BYTES + Math.ceil((fileBytes / 57) * 78);
  if (encodedBytes > limits.messageBytesMax) {
    const detail = `A message can have at most ${limits.messageBytesMax} bytes after encoding; this one has about ${encodedBytes}.`;
    errors.add('', 'message_too_large', detail);
  }
  errors.throwIfAny();
  return htmlBytes + textBytes + fileBytes;
}

/** Adds the open pixel and rewritten links to a message's HTML. Implemented by tracking/. */
export type TrackContent = (content: MessageContent, wanted: TrackingOptions) => MessageContent;

export interface TrackingOptions {
  workspaceId: string;
  mode: Mode;
  messageId: string;
  opens: boolean;
  clicks: boolean;
  /** The tracking host of the sender's domain; null for the default host. */
  host: string | null;
}

interface TrackingSettings {
  request: SendRequest;
  stream: Stream;
  domain: SenderDomain | undefined;
}

/** The request's own setting, or else that of its stream, or else that of its domain. */
function requestedTracking({ request: { tracking }, stream, domain }: TrackingSettings): {
  opens: boolean;
  clicks: boolean;
} {
  return {
    opens: tracking?.opens ?? stream.trackOpens ?? domain?.trackOpens ?? false,
    clicks: tracking?.clicks ?? stream.trackClicks ?? domain?.trackClicks ?? false,
  };
}
