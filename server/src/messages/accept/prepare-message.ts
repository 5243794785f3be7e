import type { Caller } from '../../accounts/caller.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import type { MailboxContact } from '../../contacts/contact-source.ts';
import type { SenderDomain } from '../../domains/sender-domains.ts';
import type { Clock } from '../../lib/clock.ts';
import { newIdPair } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { NamedMailbox } from '../../mail/address.ts';
import type { TemplateResolver } from '../../templates/template-resolver.ts';
import type { ContentHead, MessageContent, StoredAddress } from '../content/message-content.ts';
import { type RenderedFields, renderMessageContent } from '../content/render-content.ts';
import { checkFields } from './check-fields.ts';
import { FieldErrors } from './field-errors.ts';
import type { Envelope, Recipient } from './parse-envelope.ts';
import type { Schedule } from './parse-options.ts';
import type { SendLimits } from './send-limits.ts';
import type { SendRequest } from './send-request.ts';

/**
 * From a request to a message that only needs storing: every address parsed, every right checked,
 * every placeholder filled. Reads, never writes. Throws a RefusedError that names all that is wrong.
 */

export interface PrepareParts {
  clock: Clock;
  limits: SendLimits;
  /** The workspace's sending domain of this name, if it has one. */
  senderDomain(
    workspaceId: string,
    name: string,
  ): SenderDomain | undefined | Promise<SenderDomain | undefined>;
  contact(workspaceId: string, mode: Mode, email: string): Promise<MailboxContact | undefined>;
  templates: TemplateResolver;
  track: TrackContent;
}

export interface PreparedMessage {
  workspaceId: string;
  mode: Mode;
  id: string;
  /** The id as callers see it; every part of the walk needs it. */
  publicId: string;
  createdAtMs: number;
  keyId: string | null;
  template: { key: string; version: number | 'draft' } | null;
  recipients: Recipient[];
  /** As the recipient gets it. */
  content: MessageContent;
  /** Without secret values, for events and look-ups; the same object when there are none. */
  redactedContent: MessageContent;
  tags: string[];
  metadata: Record<string, string>;
  schedule: Schedule;
  ttlSeconds: number | null;
  /** About what it takes in memory and on disk. */
  bytes: number;
}

export interface PrepareOptions {
  /** A live caller may send a template's draft, as a test of it. */
  allowDrafts?: boolean;
  /** What placeholders find where the recipient's own record has nothing. */
  sampleContact?: Record<string, unknown>;
  /** The words are finished: what looks like a placeholder in them is text. */
  verbatim?: boolean;
}

export async function prepareMessage(
  parts: PrepareParts,
  caller: Caller,
  request: SendRequest,
  options: PrepareOptions = {},
): Promise<PreparedMessage> {
  const createdAtMs = parts.clock.now();
  const { uuid: id, id: publicId } = newIdPair('msg', createdAtMs);
  const { envelope, headers, attachments, schedule } = checkFields(
    request,
    parts.limits,
    createdAtMs,
  );
  const draft = { publicId, envelope, headers, ...options };
  const rendering = renderMessageContent(parts, caller, request, draft);
  // Waiting for what is there already would cost every send some turns of the microtask queue.
  const { template, fields, redacted } = rendering instanceof Promise ? await rendering : rendering;
  const finding = parts.senderDomain(caller.workspaceId, fields.from.domain);
  const domain = finding instanceof Promise ? await finding : finding;
  checkSender(caller, fields.from, domain);
  const untracked = buildContent(envelope, fields, attachments);
  const bytes = checkSize(parts.limits, untracked);
  const hasSecrets = redacted !== fields;
  const content = canBeTracked(envelope, hasSecrets)
    ? withTracking(parts, caller, id, untracked, { request, domain })
    : untracked;
  return {
    workspaceId: caller.workspaceId,
    mode: caller.mode,
    id,
    publicId,
    createdAtMs,
    keyId: caller.keyId ?? null,
    template,
    recipients: envelope.recipients,
    content,
    redactedContent: hasSecrets ? buildContent(envelope, redacted, attachments) : content,
    tags: [...new Set(request.tags)],
    metadata: request.metadata ?? {},
    schedule,
    ttlSeconds: request.ttl_seconds ?? null,
    bytes,
  };
}

/** Ownership is decided on the parsed domain, the same value that goes into header and envelope. */
function checkSender(caller: Caller, from: NamedMailbox, domain: SenderDomain | undefined): void {
  const { allowedDomains, mode } = caller;
  if (allowedDomains.length > 0 && !allowedDomains.includes(from.domain)) {
    throw new RefusedError(
      'domain_not_allowed',
      `This key may send only from ${allowedDomains.join(', ')}, not from ${from.domain}.`,
    );
  }
  if (mode === 'test') return;
  if (!domain) {
    throw new RefusedError(
      'domain_not_owned',
      `${from.domain} is not a sending domain of this workspace.`,
    );
  }
  if (domain.suspendedFor !== null) {
    throw new RefusedError(
      'workspace_suspended',
      `The operator has suspended the live mail of this workspace: ${domain.suspendedFor}`,
    );
  }
  if (!domain.maySend) {
    throw new RefusedError(
      'domain_not_verified',
      `${from.domain} is not verified yet: its DNS records are not all in place.`,
    );
  }
}

/**
 * All recipients of a message get the same bytes, so with several nobody could tell who opened it. A
 * secret must not pass through a link of ours, where events would tell of it.
 */
function canBeTracked(envelope: Envelope, hasSecrets: boolean): boolean {
  return envelope.recipients.length === 1 && !hasSecrets;
}

function withTracking(
  parts: PrepareParts,
  { workspaceId, mode }: Caller,
  messageId: string,
  content: MessageContent,
  { request, domain }: { request: SendRequest; domain: SenderDomain | undefined },
): MessageContent {
  const wanted = requestedTracking(request, domain);
  if (!wanted.opens && !wanted.clicks) return content;
  const host = domain?.trackingHost ?? null;
  return parts.track(content, { workspaceId, mode, messageId, ...wanted, host });
}

function buildContent(
  envelope: Envelope,
  fields: RenderedFields,
  attachments: MessageContent['attachments'],
): MessageContent {
  const ofKind = (kind: Recipient['kind']): StoredAddress[] =>
    envelope.recipients.filter((one) => one.kind === kind).map((one) => storedAddress(one.mailbox));
  const head: ContentHead = {
    from: storedAddress(fields.from),
    to: ofKind('to'),
    cc: ofKind('cc'),
    reply_to: fields.replyTo.map(storedAddress),
    headers: fields.headers,
  };
  const { subject, html, text } = fields;
  return { subject, head, html, text, attachments };
}

function storedAddress(mailbox: StoredAddress): StoredAddress {
  return mailbox.name === undefined
    ? { email: mailbox.email }
    : { email: mailbox.email, name: mailbox.name };
}

/** Room for headers, boundaries and quoted-printable's worst usual case. */
const OVERHEAD_BYTES = 4096;

function checkSize(limits: SendLimits, content: MessageContent): number {
  const errors = new FieldErrors();
  const htmlBytes = Buffer.byteLength(content.html);
  const textBytes = content.text === null ? 0 : Buffer.byteLength(content.text);
  const subjectBytes = Buffer.byteLength(content.subject);
  if (htmlBytes > limits.htmlBytesMax) {
    const detail = `html takes at most ${limits.htmlBytesMax} bytes; this has ${htmlBytes}.`;
    errors.add('/html', 'too_long', detail);
  }
  if (textBytes > limits.textBytesMax) {
    const detail = `text takes at most ${limits.textBytesMax} bytes; this has ${textBytes}.`;
    errors.add('/text', 'too_long', detail);
  }
  if (subjectBytes > limits.subjectBytesMax) {
    const detail = `The subject takes at most ${limits.subjectBytesMax} bytes; this has ${subjectBytes}.`;
    errors.add('/subject', 'too_long', detail);
  }
  const fileBytes = content.attachments.reduce((sum, file) => sum + file.content.length, 0);
  // Base64 with its line breaks takes 78 bytes for 57.
  const encodedBytes = htmlBytes + textBytes + OVERHEAD_BYTES + Math.ceil((fileBytes / 57) * 78);
  if (encodedBytes > limits.messageBytesMax) {
    const detail = `A message takes at most ${limits.messageBytesMax} bytes once encoded; this has about ${encodedBytes}.`;
    errors.add('', 'message_too_large', detail);
  }
  errors.throwIfAny();
  return htmlBytes + textBytes + fileBytes + OVERHEAD_BYTES;
}

/** Puts what tells of opens and clicks into a message's html: the room of tracking does it. */
export type TrackContent = (content: MessageContent, wanted: TrackingOptions) => MessageContent;

export interface TrackingOptions {
  workspaceId: string;
  mode: Mode;
  messageId: string;
  opens: boolean;
  clicks: boolean;
  /** Of the sender's domain; null: ours. */
  host: string | null;
}

/** What the request says, else its domain. */
export function requestedTracking(
  { tracking }: SendRequest,
  domain: SenderDomain | undefined,
): { opens: boolean; clicks: boolean } {
  return {
    opens: tracking?.opens ?? domain?.trackOpens ?? false,
    clicks: tracking?.clicks ?? domain?.trackClicks ?? false,
  };
}
