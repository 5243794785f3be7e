import type { NamedMailbox } from '../../mail/address.ts';
import {
  hasPlaceholder,
  type ParsedContent,
  parseContent,
} from '../../templates/template-engine.ts';
import type { ResolvedTemplate } from '../../templates/template-resolver.ts';
import { FieldErrors } from '../accept/field-errors.ts';
import { parseNamedMailbox } from '../accept/parse-envelope.ts';
import { checkRenderedHeader } from '../accept/parse-options.ts';
import type { SendLimits } from '../accept/send-limits.ts';
import type { AddressInput, SendRequest } from '../accept/send-request.ts';
import type { StoredAddress } from './message-content.ts';

/**
 * Header values that may contain placeholders: the sender's name, reply-to names and addresses,
 * custom headers. Rendered values must satisfy the same rules as literal ones.
 */
export interface HeaderValues {
  from: NamedMailbox;
  replyTo: StoredAddress[];
  headers: [string, string][];
}

/** The sources of these values. */
export interface HeaderSources {
  from: NamedMailbox;
  /** `field` is the name used in errors and placeholders: `reply_to`, or `reply_to.2` in a list. */
  replyTo: { field: string; given: AddressInput }[];
  headers: [string, string][];
}

export interface HeaderField {
  field: string;
  parsed: ParsedContent;
}

export function headerSources(
  request: SendRequest,
  from: NamedMailbox,
  headers: [string, string][],
  template: ResolvedTemplate | undefined,
): HeaderSources {
  const given = request.reply_to ?? template?.replyTo ?? [];
  const replyTo = Array.isArray(given)
    ? given.map((one, index) => ({ field: `reply_to.${index}`, given: one }))
    : [{ field: 'reply_to', given }];
  return { from, replyTo, headers };
}

/** Only the fields that contain placeholders. Most sends have none. */
export function headerFieldsWithPlaceholders({
  from,
  replyTo,
  headers,
}: HeaderSources): HeaderField[] {
  const fields: HeaderField[] = [];
  const add = (field: string, text: string | undefined): void => {
    if (text === undefined || !/[$\\{]/.test(text)) return;
    fields.push({ field, parsed: parseContent(text, 'header', field) });
  };
  add('from.name', from.name);
  for (const { field, given } of replyTo) {
    add(`${field}.name`, given.name);
    if (hasPlaceholder(given.email)) add(`${field}.email`, given.email);
  }
  for (const [name, value] of headers) add(`headers.${name}`, value);
  return fields;
}

export function fillHeaders(
  { from, replyTo, headers }: HeaderSources,
  filled: ReadonlyMap<string, string>,
): HeaderValues {
  return {
    from: withName(from, filled.get('from.name')),
    replyTo: replyTo.map(({ field, given }) => {
      const email = filled.get(`${field}.email`) ?? given.email;
      return withName({ ...given, email }, filled.get(`${field}.name`));
    }),
    headers: headers.map(([name, value]) => [name, filled.get(`headers.${name}`) ?? value]),
  };
}

/** Rejects values that became too long or invalid by rendering. */
export function checkHeaders(
  names: HeaderValues,
  sources: HeaderSources,
  limits: SendLimits,
): HeaderValues {
  const errors = new FieldErrors();
  // An unchanged sender was checked with the envelope.
  if (names.from !== sources.from) parseNamedMailbox(names.from, '/from', errors);
  const replyTo = names.replyTo.flatMap((one, index) => {
    const { field } = sources.replyTo[index] as { field: string };
    const parsed = parseNamedMailbox(one, `/${field.replace('.', '/')}`, errors);
    return parsed ? [parsed] : [];
  });
  for (const [name, value] of names.headers) checkRenderedHeader(name, value, limits, errors);
  errors.throwIfAny();
  return { ...names, replyTo };
}

function withName<T extends { name?: string }>(one: T, name: string | undefined): T {
  return name === undefined ? one : { ...one, name };
}
