import type { FieldError } from '../lib/refused-error.ts';
import { parseTime } from '../lib/time/rfc3339.ts';
import { type Mailbox, parseMailbox } from '../mail/address.ts';
import { isStreamKey, STREAM_KEY_RULE } from '../streams/stream-source.ts';
import type { SubscriptionStatus } from './subscription-store.ts';

/**
 * Validates the fields of a contact, from the API or from a line of an import: the same rules apply
 * to both. In comes an untrusted object; out goes a change that can be stored, or all its errors.
 */

/** The fields to change: an absent field stays as it is, null clears it. */
export interface ContactChange {
  mailbox?: Mailbox;
  firstName?: string | null;
  lastName?: string | null;
  locale?: string | null;
  /**
   * Each given name is replaced as a whole, or removed by null. Null instead of an object removes
   * all.
   */
  attributes?: Attributes | null;
  /** Streams that are not named stay as they are. */
  subscriptions?: SubscriptionChange[];
}

export interface SubscriptionChange {
  stream: string;
  status: SubscriptionStatus;
  /** When the contact chose it; null for now. */
  changedAtMs: number | null;
}

export type Attributes = Record<string, unknown>;

export type ParsedContact =
  | { ok: true; change: ContactChange }
  | { ok: false; errors: [FieldError, ...FieldError[]] };

export const ATTRIBUTES_BYTES_MAX = 32 * 1024;
const ATTRIBUTE_NAME_CHARACTERS_MAX = 128;
const ATTRIBUTES_DEPTH_MAX = 16;
const ERRORS_MAX = 100;
export const NAME_CHARACTERS_MAX = 255;

/**
 * Built-in fields of `contact` in placeholders. An attribute with one of these names could not be
 * reached.
 */
const BUILT_IN_FIELDS = new Set(['email', 'first_name', 'last_name', 'locale']);

/** Columns of a CSV file that start with it are subscriptions, so no attribute can. */
export const SUBSCRIPTION_COLUMN_PREFIX = 'subscription:';

/** As many as a workspace can have streams. */
const SUBSCRIPTIONS_MAX = 100;

const CONTROL_CHARACTERS = /\p{Cc}/u;

export function parseContact(given: Record<string, unknown>): ParsedContact {
  const errors: FieldError[] = [];
  const change: ContactChange = {};
  for (const [name, value] of Object.entries(given)) {
    switch (name) {
      case 'email': {
        const mailbox = parseEmail(value, errors);
        if (mailbox) change.mailbox = mailbox;
        break;
      }
      case 'first_name':
        change.firstName = parseName(name, value, errors);
        break;
      case 'last_name':
        change.lastName = parseName(name, value, errors);
        break;
      case 'locale':
        change.locale = parseLocale(value, errors);
        break;
      case 'attributes':
        change.attributes = parseAttributes(value, errors);
        break;
      case 'subscriptions':
        change.subscriptions = parseSubscriptions(value, errors);
        break;
      default:
        errors.push(fieldError(`/${pointerSegment(name)}`, 'unknown_field', 'Unknown field.'));
    }
  }
  const [first, ...more] = errors;
  return first ? { ok: false, errors: [first, ...more] } : { ok: true, change };
}

/** Errors in the fields that are present, for a contact that failed schema validation in others. */
export function contactFieldErrors(given: Record<string, unknown>): readonly FieldError[] {
  const parsed = parseContact(given);
  return parsed.ok ? [] : parsed.errors;
}

/** The attributes after a change, or undefined when they are too large. */
export function mergeAttributes(
  before: Attributes,
  change: Attributes | null | undefined,
): Attributes | undefined {
  if (change === undefined) return before;
  if (change === null) return {};
  const merged = { ...before };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete merged[name];
    else merged[name] = value;
  }
  return Buffer.byteLength(JSON.stringify(merged)) > ATTRIBUTES_BYTES_MAX ? undefined : merged;
}

export function attributesTooLarge(): FieldError {
  return fieldError('/attributes', 'too_large', TOO_LARGE);
}

const TOO_LARGE = `Attributes can have at most ${ATTRIBUTES_BYTES_MAX / 1024} KiB as JSON.`;

function parseEmail(value: unknown, errors: FieldError[]): Mailbox | undefined {
  if (typeof value !== 'string') {
    errors.push(fieldError('/email', 'invalid_type', 'Must be of type string.'));
    return undefined;
  }
  const parsed = parseMailbox(value);
  if (parsed.ok) return parsed.mailbox;
  errors.push(fieldError('/email', 'invalid_email', parsed.detail));
  return undefined;
}

function parseName(name: string, value: unknown, errors: FieldError[]): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') {
    errors.push(fieldError(`/${name}`, 'invalid_type', 'Must be of type string or null.'));
  } else if (CONTROL_CHARACTERS.test(value) || !value.isWellFormed()) {
    const detail = 'A name cannot contain line breaks or other control characters.';
    errors.push(fieldError(`/${name}`, 'invalid_text', detail));
  } else if (value.length > NAME_CHARACTERS_MAX) {
    const detail = `Must have at most ${NAME_CHARACTERS_MAX} characters.`;
    errors.push(fieldError(`/${name}`, 'too_long', detail));
  } else {
    return value;
  }
  return null;
}

function parseLocale(value: unknown, errors: FieldError[]): string | null {
  if (value === null || value === '') return null;
  if (typeof value === 'string' && value.length <= 35) {
    try {
      return Intl.getCanonicalLocales(value)[0] ?? null;
    } catch {
      // Not a language tag: reported below.
    }
  }
  const detail = 'Use a BCP 47 language tag, such as de-AT.';
  errors.push(fieldError('/locale', 'invalid_locale', detail));
  return null;
}

function parseAttributes(value: unknown, errors: FieldError[]): Attributes | null {
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) {
    errors.push(fieldError('/attributes', 'invalid_type', 'Must be of type object.'));
    return null;
  }
  for (const name of Object.keys(value)) {
    const pointer = `/attributes/${pointerSegment(name)}`;
    if (BUILT_IN_FIELDS.has(name)) {
      const detail = `contact.${name} is a built-in field. Choose another name.`;
      errors.push(fieldError(pointer, 'reserved_name', detail));
    } else if (name.toLowerCase().startsWith(SUBSCRIPTION_COLUMN_PREFIX)) {
      const detail = `Names that start with ${SUBSCRIPTION_COLUMN_PREFIX} are columns of subscriptions in CSV files. Choose another name.`;
      errors.push(fieldError(pointer, 'reserved_name', detail));
    } else if (name === '' || name.length > ATTRIBUTE_NAME_CHARACTERS_MAX) {
      const detail = `A name must have 1 to ${ATTRIBUTE_NAME_CHARACTERS_MAX} characters.`;
      errors.push(fieldError(pointer, 'invalid_name', detail));
    }
  }
  checkValue(value, '/attributes', 0, errors);
  if (errors.length === 0 && Buffer.byteLength(JSON.stringify(value)) > ATTRIBUTES_BYTES_MAX) {
    errors.push(attributesTooLarge());
  }
  return value as Attributes;
}

/** By stream: the status, or an object with it, as exports contain it. Its source is not taken over. */
function parseSubscriptions(value: unknown, errors: FieldError[]): SubscriptionChange[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    errors.push(fieldError('/subscriptions', 'invalid_type', 'Must be of type object.'));
    return [];
  }
  const entries = Object.entries(value);
  if (entries.length > SUBSCRIPTIONS_MAX) {
    const detail = `At most ${SUBSCRIPTIONS_MAX} streams can be named.`;
    errors.push(fieldError('/subscriptions', 'too_many', detail));
    return [];
  }
  return entries.flatMap(([stream, given]) => {
    const pointer = `/subscriptions/${pointerSegment(stream)}`;
    if (!isStreamKey(stream)) {
      errors.push(fieldError(pointer, 'invalid_name', STREAM_KEY_RULE));
      return [];
    }
    const isObject = given !== null && typeof given === 'object' && !Array.isArray(given);
    const fields: Record<string, unknown> = isObject ? { ...given } : { status: given };
    const { status, changed_at: changedAt = null, source: _source, ...unknown } = fields;
    const [unknownName] = Object.keys(unknown);
    if (unknownName !== undefined) {
      const below = `${pointer}/${pointerSegment(unknownName)}`;
      errors.push(fieldError(below, 'unknown_field', 'Unknown field.'));
      return [];
    }
    if (status !== 'subscribed' && status !== 'unsubscribed') {
      const at = isObject ? `${pointer}/status` : pointer;
      errors.push(fieldError(at, 'invalid_value', 'Must be subscribed or unsubscribed.'));
      return [];
    }
    const changedAtMs = typeof changedAt === 'string' ? parseTime(changedAt) : undefined;
    if (changedAt !== null && changedAtMs === undefined) {
      const detail = 'Use a time in RFC 3339 format with an offset.';
      errors.push(fieldError(`${pointer}/changed_at`, 'invalid_time', detail));
      return [];
    }
    return [{ stream, status, changedAtMs: changedAtMs ?? null }];
  });
}

/** Rejects what jsonb cannot store, and nesting that would overflow recursive code elsewhere. */
function checkValue(value: unknown, pointer: string, depth: number, errors: FieldError[]): void {
  if (errors.length >= ERRORS_MAX) return;
  if (depth > ATTRIBUTES_DEPTH_MAX) {
    const detail = `Attributes can be nested at most ${ATTRIBUTES_DEPTH_MAX} levels deep.`;
    if (errors.at(-1)?.code !== 'too_deep')
      errors.push(fieldError('/attributes', 'too_deep', detail));
  } else if (typeof value === 'string') {
    if (isText(value)) return;
    const detail = 'Text cannot contain NUL or unpaired surrogates.';
    errors.push(fieldError(pointer, 'invalid_text', detail));
  } else if (typeof value === 'number') {
    if (Number.isFinite(value)) return;
    errors.push(fieldError(pointer, 'invalid_value', 'This number is too large.'));
  } else if (value !== null && typeof value === 'object') {
    for (const [name, inner] of Object.entries(value)) {
      const below = `${pointer}/${pointerSegment(name)}`;
      if (name !== '__proto__' && isText(name)) checkValue(inner, below, depth + 1, errors);
      else errors.push(fieldError(below, 'invalid_name', 'This name is not allowed.'));
    }
  }
}

function isText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function fieldError(pointer: string, code: string, detail: string): FieldError {
  return { pointer, code, detail };
}

/** Escapes a name for a JSON Pointer (RFC 6901 section 3) and makes it safe to display. */
function pointerSegment(name: string): string {
  const shown = name.slice(0, ATTRIBUTE_NAME_CHARACTERS_MAX).toWellFormed();
  return shown
    .replaceAll(/\p{Cc}/gu, '\ufffd')
    .replaceAll('~', '~0')
    .replaceAll('/', '~1');
}
