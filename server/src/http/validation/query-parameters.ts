import { assert } from '../../lib/assert.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { parseTime } from '../../lib/rfc3339.ts';
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

/** In a query, + means a space: the + of `jane+label@example.com` or `10:00:00+01:00` is lost. */
export function encodingHint(given: unknown): string {
  const hasSpace = typeof given === 'string' && given.includes(' ');
  return hasSpace ? ' In a URL, + must be written as %2B.' : '';
}
