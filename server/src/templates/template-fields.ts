import {
  type FieldError,
  fieldErrorsOf,
  invalidFields,
  RefusedError,
} from '../lib/refused-error.ts';
import { parseMailbox } from '../mail/address.ts';
import { isStreamKey, STREAM_KEY_RULE } from '../streams/stream-source.ts';
import {
  type ContentKind,
  EMPTY_CONTENT,
  type LocaleContent,
  type Sender,
  type StoredContent,
} from './content/stored-content.ts';
import { canonicalLocale } from './locales.ts';
import { hasPlaceholder } from './template-engine.ts';
import { parseVariables } from './variables/parse-variables.ts';

/**
 * Parses the fields of templates, layouts and partials, with the same rules for the API and for
 * folders of files. Input: an untrusted change, in which an absent field keeps its value and null
 * clears it. Output: the complete content after the change, or a RefusedError that lists every
 * problem. Only the shape is validated here: a draft may be unfinished, and publishing checks the rest.
 */

export interface AppliedChanges {
  name: string | undefined;
  content: StoredContent;
}

export const KEY_PATTERN = '^[a-z0-9][a-z0-9_.-]{0,127}$';

const KEY = new RegExp(KEY_PATTERN);
const NAME_CHARS_MAX = 200;
const SUBJECT_CHARS_MAX = 2_000;
const TEXT_BYTES_MAX = 2 * 1024 * 1024;
/** Total for all fields and variants. */
const CONTENT_BYTES_MAX = 16 * 1024 * 1024;
/** Total for all fields and variants; each placeholder costs microseconds on every check. */
const PLACEHOLDERS_MAX = 10_000;
const LOCALES_MAX = 60;
const REPLY_TO_MAX = 10;
const REPLY_TO_CHARS_MAX = 320;
const SENDER_NAME_BYTES_MAX = 320;

const FIELDS: Record<ContentKind, ReadonlySet<string>> = {
  template: new Set([
    ...['name', 'subject', 'html', 'text', 'from', 'reply_to', 'stream'],
    ...['layout', 'locales', 'variables'],
  ]),
  layout: new Set(['name', 'html', 'text', 'locales']),
  partial: new Set(['name', 'html', 'text', 'locales']),
};

export function applyFieldChanges(
  kind: ContentKind,
  before: StoredContent,
  given: Readonly<Record<string, unknown>>,
): AppliedChanges {
  const errors: FieldError[] = [];
  const known = FIELDS[kind];
  for (const field of Object.keys(given)) {
    if (!known.has(field)) errors.push(fieldError(`/${field}`, 'unknown_field', UNKNOWN_FIELD));
  }
  const changed = <T>(
    field: string,
    current: T,
    parse: (value: unknown, pointer: string) => T,
  ): T =>
    Object.hasOwn(given, field) && given[field] !== undefined && known.has(field)
      ? parse(given[field], `/${field}`)
      : current;
  const localized = (field: keyof LocaleContent, current: string | null): string | null =>
    changed(field, current, (value, pointer) => parseText(field, value, pointer, errors));
  const name = changed<string | undefined>('name', undefined, (value, pointer) =>
    parseName(value, pointer, errors),
  );
  const content: StoredContent = {
    subject: localized('subject', before.subject),
    html: localized('html', before.html),
    text: localized('text', before.text),
    from: changed('from', before.from, (value, pointer) =>
      value === null ? null : (parseSender(value, pointer, errors) ?? null),
    ),
    reply_to: changed('reply_to', before.reply_to, (value, pointer) =>
      parseReplyTo(value, pointer, errors),
    ),
    stream: changed('stream', before.stream ?? null, (value, pointer) =>
      parseStream(value, pointer, errors),
    ),
    layout: changed('layout', before.layout, (value, pointer) =>
      parseLayout(value, pointer, errors),
    ),
    locales: changed('locales', before.locales, (value, pointer) =>
      parseLocales(kind, before.locales, value, pointer, errors),
    ),
    variables: changed('variables', before.variables, (value, pointer) =>
      parseVariables(value, pointer, errors),
    ),
  };
  if (errors.length === 0) checkTotalSize(content, errors);
  throwIfAny(errors);
  return { name, content };
}

/** Errors in the fields that are present, for a template whose other fields cannot be read. */
export function templateFieldErrors(
  kind: ContentKind,
  { key: _, ...fields }: Readonly<Record<string, unknown>>,
): readonly FieldError[] {
  return fieldErrorsOf(() => applyFieldChanges(kind, EMPTY_CONTENT, fields));
}

function checkTotalSize(content: StoredContent, errors: FieldError[]): void {
  const whole = JSON.stringify(content);
  if (Buffer.byteLength(whole) > CONTENT_BYTES_MAX) {
    const detail = `All fields together must be at most ${CONTENT_BYTES_MAX} bytes.`;
    errors.push(fieldError('', 'too_long', detail));
  }
  let placeholders = 0;
  for (const _ of whole.matchAll(/\$\{|\{\{|\{%/g)) placeholders += 1;
  if (placeholders > PLACEHOLDERS_MAX) {
    const detail = `All fields together must have at most ${PLACEHOLDERS_MAX} placeholders and tags; found ${placeholders}.`;
    errors.push(fieldError('', 'too_many', detail));
  }
}

/** Whether the text is a valid key. An invalid key in a URL path is simply not found. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

export function parseKey(given: unknown): string {
  if (typeof given === 'string' && isKey(given)) return given;
  throw new RefusedError('validation_failed', 'The key is not valid.', {
    errors: [fieldError('/key', 'invalid_format', KEY_RULE)],
  });
}

const KEY_RULE =
  'A key has up to 128 lowercase letters, digits, dots, hyphens and underscores, and starts with a letter or digit.';
const UNKNOWN_FIELD = 'Unknown field.';

function throwIfAny(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidFields(errors);
}

function parseName(value: unknown, pointer: string, errors: FieldError[]): string | undefined {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= NAME_CHARS_MAX) {
    if (isCleanText(value) && !/\p{Cc}/u.test(value)) return value.trim();
  }
  const detail = `A name must be a single line of at most ${NAME_CHARS_MAX} characters.`;
  errors.push(fieldError(pointer, 'invalid_text', detail));
  return undefined;
}

/** Publishing checks that the stream exists. */
function parseStream(value: unknown, pointer: string, errors: FieldError[]): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && isStreamKey(value)) return value;
  errors.push(fieldError(pointer, 'invalid_format', STREAM_KEY_RULE));
  return null;
}

/** An empty string clears the field. */
function parseText(
  field: keyof LocaleContent,
  value: unknown,
  pointer: string,
  errors: FieldError[],
): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') {
    errors.push(fieldError(pointer, 'invalid_type', 'Must be of type string or null.'));
    return null;
  }
  if (!isCleanText(value)) {
    const detail = 'Text cannot contain NUL or unpaired surrogates.';
    errors.push(fieldError(pointer, 'invalid_text', detail));
  } else if (field === 'subject' && /[\r\n]/.test(value)) {
    errors.push(fieldError(pointer, 'invalid_text', 'A subject cannot contain line breaks.'));
  } else if (field === 'subject' && value.length > SUBJECT_CHARS_MAX) {
    errors.push(
      fieldError(pointer, 'too_long', `Must be at most ${SUBJECT_CHARS_MAX} characters.`),
    );
  } else if (Buffer.byteLength(value) > TEXT_BYTES_MAX) {
    errors.push(fieldError(pointer, 'too_long', `Must be at most ${TEXT_BYTES_MAX} bytes.`));
  }
  return value;
}

function parseSender(value: unknown, pointer: string, errors: FieldError[]): Sender | undefined {
  const { email, name, ...others } = isObject(value) ? value : { email: undefined };
  for (const field of Object.keys(others)) {
    errors.push(fieldError(`${pointer}/${field}`, 'unknown_field', UNKNOWN_FIELD));
  }
  const address = parseAddress(email, pointer, errors);
  if (address === undefined) return undefined;
  if (name === undefined || name === null || name === '') return { email: address };
  if (typeof name !== 'string' || !isCleanText(name) || /\p{Cc}/u.test(name)) {
    const detail = 'A name cannot contain line breaks or other control characters.';
    errors.push(fieldError(`${pointer}/name`, 'invalid_text', detail));
    return undefined;
  }
  if (Buffer.byteLength(name) > SENDER_NAME_BYTES_MAX) {
    const detail = `A name must be at most ${SENDER_NAME_BYTES_MAX} bytes.`;
    errors.push(fieldError(`${pointer}/name`, 'too_long', detail));
  }
  return { email: address, name };
}

/** A reply-to address may contain placeholders; it is then validated by each send. */
function parseAddress(email: unknown, pointer: string, errors: FieldError[]): string | undefined {
  const allowsPlaceholders = pointer.startsWith('/reply_to') && typeof email === 'string';
  if (allowsPlaceholders && hasPlaceholder(email) && email.length <= REPLY_TO_CHARS_MAX)
    return email;
  const parsed = typeof email === 'string' ? parseMailbox(email) : undefined;
  if (parsed?.ok) return parsed.mailbox.email;
  const detail = parsed ? parsed.detail : 'Must be an object with an email.';
  errors.push(fieldError(`${pointer}/email`, 'invalid_email', detail));
  return undefined;
}

function parseReplyTo(value: unknown, pointer: string, errors: FieldError[]): Sender[] {
  if (value === null) return [];
  if (!Array.isArray(value)) return [parseSender(value, pointer, errors)].filter(isDefined);
  if (value.length > REPLY_TO_MAX) {
    errors.push(fieldError(pointer, 'too_many', `Must have at most ${REPLY_TO_MAX} items.`));
    return [];
  }
  return value
    .map((one, index) => parseSender(one, `${pointer}/${index}`, errors))
    .filter(isDefined);
}

function parseLayout(value: unknown, pointer: string, errors: FieldError[]): string | null {
  if (value === null || (typeof value === 'string' && KEY.test(value))) return value;
  errors.push(fieldError(pointer, 'invalid_format', `Must be the key of a layout. ${KEY_RULE}`));
  return null;
}

/** Each variant in the change replaces the whole variant; null removes one, or all of them. */
function parseLocales(
  kind: ContentKind,
  before: StoredContent['locales'],
  value: unknown,
  pointer: string,
  errors: FieldError[],
): StoredContent['locales'] {
  if (value === null) return {};
  if (!isObject(value)) {
    errors.push(fieldError(pointer, 'invalid_type', 'Must be an object of variants by locale.'));
    return before;
  }
  const locales = new Map(Object.entries(before));
  const named = new Set<string>();
  for (const [tag, localized] of Object.entries(value)) {
    const at = `${pointer}/${tag.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const locale = canonicalLocale(tag);
    if (locale === undefined) {
      errors.push(fieldError(at, 'invalid_format', 'Must be a BCP 47 language tag such as de-AT.'));
    } else if (named.has(locale)) {
      errors.push(fieldError(at, 'duplicate', `${locale} is given more than once.`));
    } else if (localized === null) locales.delete(locale);
    else locales.set(locale, parseVariant(kind, localized, at, errors));
    if (locale !== undefined) named.add(locale);
  }
  if (locales.size > LOCALES_MAX) {
    errors.push(fieldError(pointer, 'too_many', `Must have at most ${LOCALES_MAX} locales.`));
  }
  return Object.fromEntries([...locales].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function parseVariant(
  kind: ContentKind,
  value: unknown,
  pointer: string,
  errors: FieldError[],
): LocaleContent {
  if (!isObject(value)) {
    errors.push(
      fieldError(pointer, 'invalid_type', 'Must be an object with subject, html and text.'),
    );
    return {};
  }
  const localized: LocaleContent = {};
  for (const [field, given] of Object.entries(value)) {
    const isContentField = field === 'html' || field === 'text' || field === 'subject';
    if (!isContentField || (field === 'subject' && kind !== 'template')) {
      errors.push(fieldError(`${pointer}/${field}`, 'unknown_field', UNKNOWN_FIELD));
      continue;
    }
    const text = parseText(field, given, `${pointer}/${field}`, errors);
    if (text !== null) localized[field] = text;
  }
  if (Object.keys(localized).length === 0) {
    errors.push(fieldError(pointer, 'too_few', 'A variant needs at least one field.'));
  }
  const { subject, html, text } = localized;
  return {
    ...(subject === undefined ? {} : { subject }),
    ...(html === undefined ? {} : { html }),
    ...(text === undefined ? {} : { text }),
  };
}

function isCleanText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function fieldError(pointer: string, code: string, detail: string): FieldError {
  return { pointer, code, detail };
}
