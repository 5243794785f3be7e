import type { Mode } from '../../accounts/tenant-scope.ts';
import { type NamedMailbox, parseMailbox } from '../../mail/address.ts';
import { hasPlaceholder } from '../../templates/template-engine.ts';
import { simulatorAddressError } from '../simulator-address.ts';
import type { RecipientKind } from './accepted-message.ts';
import type { FieldErrors } from './field-errors.ts';
import type { AddressInput, SendRequest } from './send-request.ts';

/** The sender and the recipients of a message. Each address is parsed once, here. */
export interface Envelope {
  from: NamedMailbox | undefined;
  /** Without duplicates: the first occurrence counts, `to` before `cc` before `bcc`. */
  recipients: Recipient[];
}

export interface Recipient {
  kind: RecipientKind;
  mailbox: NamedMailbox;
}

const CONTROL_CHARACTERS = /[\p{Cc}]/u;
const NAME_OCTETS_MAX = 320;

export function parseEnvelope(
  request: Partial<SendRequest>,
  recipientsMax: number,
  errors: FieldErrors,
  mode: Mode | undefined,
): Envelope {
  checkReplyTo(request.reply_to ?? [], errors);
  return {
    from: request.from && parseNamedMailbox(request.from, '/from', errors),
    recipients: parseRecipients(request, recipientsMax, errors, mode),
  };
}

/** A reply-to address may contain placeholders. It is checked again after rendering. */
function checkReplyTo(replyTo: AddressInput | AddressInput[], errors: FieldErrors): void {
  const check = (one: AddressInput, pointer: string): void => {
    if (hasPlaceholder(one.email))
      parseNamedMailbox({ ...one, email: PLACEHOLDER_EMAIL }, pointer, errors);
    else parseNamedMailbox(one, pointer, errors);
  };
  if (Array.isArray(replyTo)) {
    for (const [index, one] of replyTo.entries()) check(one, `/reply_to/${index}`);
  } else check(replyTo, '/reply_to');
}

const PLACEHOLDER_EMAIL = 'x@example.com';

export function parseNamedMailbox(
  input: AddressInput,
  pointer: string,
  errors: FieldErrors,
): NamedMailbox | undefined {
  const parsed = parseMailbox(input.email);
  if (!parsed.ok) errors.add(`${pointer}/email`, 'invalid_email', parsed.detail);
  const { name } = input;
  if (name !== undefined && CONTROL_CHARACTERS.test(name)) {
    const detail = 'A name cannot contain line breaks or other control characters.';
    errors.add(`${pointer}/name`, 'invalid_text', detail);
    return undefined;
  }
  if (name !== undefined && Buffer.byteLength(name) > NAME_OCTETS_MAX) {
    const detail = `A name can have at most ${NAME_OCTETS_MAX} bytes.`;
    errors.add(`${pointer}/name`, 'too_long', detail);
    return undefined;
  }
  if (!parsed.ok) return undefined;
  return name === undefined || name === '' ? parsed.mailbox : { ...parsed.mailbox, name };
}

function parseRecipients(
  request: Partial<SendRequest>,
  recipientsMax: number,
  errors: FieldErrors,
  mode: Mode | undefined,
): Recipient[] {
  const seen = new Set<string>();
  const recipients: Recipient[] = [];
  const add = (kind: RecipientKind, input: AddressInput, pointer: string): void => {
    const mailbox = parseNamedMailbox(input, pointer, errors);
    if (!mailbox || seen.has(mailbox.key)) return;
    seen.add(mailbox.key);
    const unknown = mode === 'test' ? simulatorAddressError(mailbox.key) : undefined;
    if (unknown !== undefined) errors.add(`${pointer}/email`, 'invalid_simulation', unknown);
    recipients.push({ kind, mailbox });
  };
  if (Array.isArray(request.to)) {
    request.to.forEach((one, index) => {
      add('to', one, `/to/${index}`);
    });
  } else if (request.to) add('to', request.to, '/to');
  request.cc?.forEach((one, index) => {
    add('cc', one, `/cc/${index}`);
  });
  request.bcc?.forEach((one, index) => {
    add('bcc', one, `/bcc/${index}`);
  });
  if (recipients.length > recipientsMax) {
    const detail = `A message can have at most ${recipientsMax} recipients; this one has ${recipients.length}.`;
    errors.add('', 'too_many_recipients', detail);
  }
  return recipients;
}
