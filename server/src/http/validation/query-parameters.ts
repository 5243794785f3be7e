import { assert } from '../../lib/assert.ts';
import { didYouMean } from '../../lib/did-you-mean.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { parseTime } from '../../lib/time/rfc3339.ts';
import { parseMailbox } from '../../mail/address.ts';
import { parseDomainName } from '../../mail/domain-name.ts';

/**
 * Returns the normalized address of a query parameter under `name`, or nothing if it is absent.
 */
export function parseAddressParameter<Name extends string>(
  name: Name,
  parameter: string,
  query: Record<string, unknown>,
): { [K in Name]?: string } {
  const text = query[parameter];
  if (text === undefined) return {};
  const parsed = parseMailbox(String(text));
  if (!parsed.ok) {
    const detail = parsed.detail + encodingHint(text);
    throw invalidFields([{ parameter, code: 'invalid_email', detail }]);
  }
  return { [name]: parsed.mailbox.key } as { [K in Name]?: string };
}

/** Returns the domain name of a query parameter under `name`, or nothing if it is absent. */
export function parseDomainParameter<Name extends string>(
  name: Name,
  parameter: string,
  query: Record<string, unknown>,
): { [K in Name]?: string } {
  const text = query[parameter];
  if (text === undefined) return {};
  const parsed = parseDomainName(String(text));
  if (!parsed.ok)
    throw invalidFields([{ parameter, code: 'invalid_domain', detail: parsed.detail }]);
  return { [name]: parsed.domain } as { [K in Name]?: string };
}

/** Returns the time of a query parameter under `name`, or nothing if it is absent. */
export function parseTimeParameter<Name extends string>(
  name: Name,
  parameter: string,
  query: Record<string, unknown>,
): { [K in Name]?: number } {
  const text = query[parameter];
  if (text === undefined) return {};
  const ms = parseTime(String(text));
  assert(ms !== undefined, `${parameter} was validated as a time`);
  return { [name]: ms } as { [K in Name]?: number };
}

/** For a parameter of a closed set, which its schema describes as text. */
export function checkAllowedValue(
  parameter: string,
  allowed: readonly string[],
  query: Record<string, unknown>,
): void {
  const given = query[parameter];
  if (given === undefined || allowed.includes(String(given))) return;
  const detail = describeEnumError(given, allowed);
  throw invalidFields([{ parameter, code: 'invalid_value', detail }]);
}

/** A long list alone does not show a typo. */
export function describeEnumError(given: unknown, allowed: readonly unknown[]): string {
  const known = allowed.filter((value) => typeof value === 'string');
  const meant = typeof given === 'string' ? didYouMean(given, known) : undefined;
  const list = `Must be one of ${allowed.join(', ')}.`;
  return meant === undefined ? list : `${list} Did you mean ${meant}?`;
}

/** In a query, + means a space: the + of `jane+label@example.com` or `10:00:00+01:00` is lost. */
export function encodingHint(given: unknown): string {
  const hasSpace = typeof given === 'string' && given.includes(' ');
  return hasSpace ? ' In a URL, + must be written as %2B.' : '';
}
