import { BATCH_METADATA } from '../../http/routes/messages/schemas.ts';
import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { eventLoopTurns } from '../../lib/scheduling/turns.ts';
import { withoutReturnPath } from '../return-path-header.ts';
import { SizeBudget } from '../size-budget.ts';
import { checkBatchId } from './batch-id.ts';
import type { Mail, Personalization } from './mail-schema.ts';
import { Substitutions } from './substitutions.ts';

/** Other requests are served after this long. */
const YIELD_AFTER_MS = 5;

export interface TranslationLimits {
  nowMs: number;
  bytesMax: number;
  workspaceId: string;
}

/**
 * The bodies of our own sends, one for each personalization. Content is sent as it is, except for
 * substitutions; only templates have placeholders.
 */
export async function toMessages(mail: Mail, limits: TranslationLimits): Promise<object[]> {
  checkMail(mail);
  const budget = new SizeBudget(limits.bytesMax, {
    pointer: '/personalizations',
    detail: `The messages of one request can have at most ${limits.bytesMax} bytes together. Use fewer personalizations, or link to files instead of attaching them.`,
  });
  const common = commonFields(mail);
  const mergedBytes = JSON.stringify([mail.headers, mail.custom_args]).length;
  const messages: object[] = [];
  let sinceMs = performance.now();
  for (const [index, personalization] of mail.personalizations.entries()) {
    budget.spend(mergedBytes);
    messages.push({
      ...common,
      ...personalFields(mail, personalization, limits.nowMs),
      ...contentFields(mail, personalization, index, budget),
    });
    if (performance.now() - sinceMs < YIELD_AFTER_MS) continue;
    await eventLoopTurns.next(limits.workspaceId);
    sinceMs = performance.now();
  }
  return messages;
}

/** Links to pages of SendGrid, which recipients would get as text. */
const UNSUBSCRIBE_TAG = /<%asm_(?:group_unsubscribe|preferences)(?:_raw)?_url%>/;

/** What the schema cannot express. */
function checkMail(mail: Mail): void {
  const { content = [], template_id: templateId, attachments = [], batch_id: batchId } = mail;
  const errors: FieldError[] = [];
  const add = (pointer: string, code: string, detail: string) =>
    errors.push({ pointer, code, detail });
  if (content[0] && content[1] && content[0].type === content[1].type) {
    add('/content/1/type', 'duplicate', 'Each type of content can be given once.');
  }
  for (const [index, { value }] of content.entries()) {
    const [tag] = UNSUBSCRIBE_TAG.exec(value) ?? [];
    if (tag === undefined) continue;
    const detail = `${tag} is not replaced. Mail with asm.group_id has the header List-Unsubscribe, and templates have {{ unsubscribe_url }}.`;
    add(`/content/${index}/value`, 'unsupported', detail);
  }
  if (mail.reply_to && mail.reply_to_list) {
    add('/reply_to_list', 'conflict', 'Use either reply_to or reply_to_list.');
  }
  for (const [index, attachment] of attachments.entries()) {
    if (attachment.disposition !== 'inline' || contentIdOf(attachment)) continue;
    const detail = 'An inline attachment needs a content_id, to which the HTML refers.';
    add(`/attachments/${index}/content_id`, 'required', detail);
  }
  if (batchId !== undefined) checkBatchId(batchId, '/batch_id');
  if (batchId !== undefined && hasOwnBatchKey(mail)) {
    add('/custom_args', 'reserved_name', `"${BATCH_METADATA}" is set from batch_id.`);
  }
  for (const [index, { substitutions }] of mail.personalizations.entries()) {
    if (templateId === undefined || !hasAny(substitutions)) continue;
    const detail =
      'Templates take dynamic_template_data, not substitutions. Client libraries send it if template_id begins with "d-".';
    add(`/personalizations/${index}/substitutions`, 'conflict', detail);
  }
  if (errors.length > 0) throw invalidFields(errors);
}

function hasAny(values: object | undefined): boolean {
  return values !== undefined && Object.keys(values).length > 0;
}

function hasOwnBatchKey({ custom_args: args, personalizations }: Mail): boolean {
  return [args, ...personalizations.map(({ custom_args: own }) => own)].some(
    (one) => one !== undefined && Object.hasOwn(one, BATCH_METADATA),
  );
}

/** The fields that are the same for all personalizations. */
function commonFields(mail: Mail): object {
  const { categories, attachments } = mail;
  return {
    ...(mail.from ? { from: mail.from } : {}),
    ...(categories === undefined ? {} : { tags: categories }),
    ...(mail.asm === undefined ? {} : { stream: String(mail.asm.group_id) }),
    ...trackingFields(mail),
    ...(attachments?.length ? { attachments: attachments.map(toAttachment) } : {}),
  };
}

function trackingFields({ tracking_settings: settings }: Mail): object {
  const clicks = settings?.click_tracking?.enable;
  const opens = settings?.open_tracking?.enable;
  if (clicks === undefined && opens === undefined) return {};
  return {
    tracking: {
      ...(clicks === undefined ? {} : { clicks }),
      ...(opens === undefined ? {} : { opens }),
    },
  };
}

type Attachment = NonNullable<Mail['attachments']>[number];

function contentIdOf({ content_id, contentId, id }: Attachment): string | undefined {
  return content_id || contentId || id;
}

function toAttachment(attachment: Attachment): object {
  const { content, filename, type = attachment.content_type, disposition } = attachment;
  const contentId = contentIdOf(attachment);
  return {
    content,
    filename: filename || 'attachment',
    ...(type ? { content_type: type } : {}),
    // As at SendGrid, the id of a file that is not inline has no meaning.
    ...(disposition === 'inline' && contentId ? { content_id: contentId } : {}),
  };
}

function personalFields(mail: Mail, personalization: Personalization, nowMs: number): object {
  const { to, cc, bcc, from } = personalization;
  const given = mergeHeaders(mail.headers, personalization.headers);
  const headers = given && withoutReturnPath(given);
  const metadata = {
    ...mail.custom_args,
    ...personalization.custom_args,
    ...(mail.batch_id === undefined ? {} : { [BATCH_METADATA]: mail.batch_id }),
  };
  const sendAt = personalization.send_at ?? mail.send_at;
  const isLater = sendAt !== undefined && sendAt * 1000 > nowMs;
  return {
    to,
    ...(cc?.length ? { cc } : {}),
    ...(bcc?.length ? { bcc } : {}),
    ...(from ? { from } : {}),
    ...(headers ? { headers } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(isLater ? { scheduled_at: toTime(sendAt) } : {}),
  };
}

/** A header of the personalization replaces that of the mail, in whatever case it is written. */
function mergeHeaders(
  common: Record<string, string> | undefined,
  own: Record<string, string> | undefined,
): Record<string, string> | undefined {
  if (!common || !own) return own ?? common;
  const replaced = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(common).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}

/** The last second of the year 9999, the last time that can be written. */
const LAST_SECOND = 253_402_300_799;

function toTime(seconds: number): string {
  return new Date(Math.min(seconds, LAST_SECOND) * 1000).toISOString();
}

function contentFields(
  mail: Mail,
  personalization: Personalization,
  index: number,
  budget: SizeBudget,
): object {
  const pointer = `/personalizations/${index}/substitutions`;
  const substitutions = new Substitutions(personalization.substitutions ?? {}, budget, pointer);
  const replies = mail.reply_to ? [mail.reply_to] : (mail.reply_to_list ?? []);
  const replyTo = replies.map(({ email, name }) => ({
    email: substitutions.apply(email),
    ...(name ? { name: substitutions.apply(name) } : {}),
  }));
  budget.spend(filesLength(mail));
  return {
    ...(replyTo.length > 0 ? { reply_to: replyTo } : {}),
    // As at SendGrid, the subject and the content of a template replace those of the request.
    ...(mail.template_id === undefined
      ? inlineContent(mail, personalization, substitutions)
      : {
          template_key: mail.template_id,
          template_variables: personalization.dynamic_template_data ?? {},
        }),
  };
}

function filesLength({ attachments = [] }: Mail): number {
  return attachments.reduce((sum, { content }) => sum + content.length, 0);
}

function inlineContent(
  mail: Mail,
  personalization: Personalization,
  substitutions: Substitutions,
): object {
  const subject = personalization.subject ?? mail.subject;
  const contentOf = (type: string) => mail.content?.find((one) => one.type === type)?.value;
  const html = contentOf('text/html');
  const text = contentOf('text/plain');
  return {
    ...(subject === undefined ? {} : { subject: substitutions.apply(subject) }),
    ...(html === undefined ? {} : { html: substitutions.apply(html) }),
    ...(text === undefined ? {} : { text: substitutions.apply(text) }),
    placeholders: false,
  };
}

/**
 * The same error with its pointers into the mail, from pointers into the message that was made of the
 * personalization with this index, or into a batch.
 */
export function locateErrors(error: unknown, mail: Mail, index = 0): unknown {
  if (!(error instanceof RefusedError)) return error;
  const errors = error.errors.map((one) =>
    one.pointer === undefined ? one : { ...one, pointer: pointerInMail(one.pointer, mail, index) },
  );
  return new RefusedError(error.code, error.message, {
    errors,
    ...(error.retryAfterSeconds === undefined
      ? {}
      : { retryAfterSeconds: error.retryAfterSeconds }),
    ...(error.fix === undefined ? {} : { fix: error.fix }),
  });
}

function pointerInMail(pointer: string, mail: Mail, only: number): string {
  const [, index = only, inner = pointer] = /^\/messages\/(\d+)(.*)$/s.exec(pointer) ?? [];
  const own = `/personalizations/${index}`;
  const personalization = mail.personalizations[Number(index)];
  const [, field = '', rest = ''] = /^\/([^/]*)(.*)$/s.exec(inner) ?? [];
  const contentAt = (type: string) => {
    const at = mail.content?.findIndex((one) => one.type === type) ?? -1;
    return at < 0 ? '/content' : `/content/${at}/value`;
  };
  switch (field) {
    case '':
    case 'messages':
      return inner === '' ? own : '/personalizations';
    case 'to':
    case 'cc':
    case 'bcc':
      return `${own}/${field}${rest}`;
    case 'from':
    case 'subject':
      return personalization?.[field] === undefined ? inner : own + inner;
    case 'html':
      return contentAt('text/html');
    case 'text':
      return contentAt('text/plain');
    case 'reply_to':
      return mail.reply_to ? `/reply_to${rest.replace(/^\/0/, '')}` : `/reply_to_list${rest}`;
    case 'template_key':
      return '/template_id';
    case 'template_variables':
      return `${own}/dynamic_template_data${rest}`;
    case 'tags':
      return `/categories${rest}`;
    case 'metadata':
      return `${personalization?.custom_args ? own : ''}/custom_args${rest}`;
    case 'headers':
      return `${personalization?.headers ? own : ''}/headers${rest}`;
    case 'scheduled_at':
      return personalization?.send_at === undefined ? '/send_at' : `${own}/send_at`;
    case 'attachments':
      return inner.replace(/content_type$/, 'type');
    case 'tracking':
      return '/tracking_settings';
    case 'stream':
      return '/asm/group_id';
    default:
      return inner;
  }
}
