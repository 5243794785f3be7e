import { addressParser } from 'postal-mime';
import { type FieldError, invalidFields } from '../lib/refused-error.ts';

/** An address as our own API takes it. */
export interface AddressInput {
  email: string;
  name?: string;
}

/**
 * Room for a long address and name, and for the highest number of recipients that an operator can allow.
 * Hostile lists of groups in groups take up to fifty times as long to parse as others.
 */
const ADDRESS_CHARS_MAX = 2_000;
const LIST_CHARS_MAX = 100_000;

/** Most addresses are sent without a name, and parsing them takes longer than the rest of a translation. */
const BARE_ADDRESS = /^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/;

/**
 * Parses addresses as other providers take them: `jane@example.com`, `Jane Doe <jane@example.com>`, or
 * a list of them separated by commas. Our own API checks the addresses themselves.
 */
export function parseAddressList(
  text: string,
  pointer: string,
  charsMax = LIST_CHARS_MAX,
): AddressInput[] {
  if (text.length > charsMax) {
    const detail = `Must be at most ${charsMax} characters.`;
    throw invalidFields([{ pointer, code: 'too_long', detail }]);
  }
  if (BARE_ADDRESS.test(text)) return [{ email: text }];
  const addresses = addressParser(text, { flatten: true }).map(({ address = '', name }) =>
    name ? { email: address, name } : { email: address },
  );
  if (addresses.length === 0 || addresses.some(({ email }) => email === '')) {
    throw invalidAddress(pointer);
  }
  return addresses;
}

/** One address with a name that is neither quoted nor encoded. */
const UNQUOTED_NAME = /^([^<>@";]*)<([^\s@<>]+@[^\s@<>]+)>$/;

/** Parses a field that takes exactly one address. */
export function parseAddress(text: string, pointer: string): AddressInput {
  if (text.length <= ADDRESS_CHARS_MAX) {
    if (BARE_ADDRESS.test(text)) return { email: text };
    // Programs write `${name} <${address}>`, also for names with commas, which would have to be quoted.
    const [, name = '', email = ''] = UNQUOTED_NAME.exec(text.trim()) ?? [];
    if (name.includes(',') && !name.includes('=?')) return { email, name: name.trim() };
  }
  const [address, ...others] = parseAddressList(text, pointer, ADDRESS_CHARS_MAX);
  if (!address || others.length > 0) throw invalidAddress(pointer);
  return address;
}

function invalidAddress(pointer: string) {
  const detail = 'Not an address. Write `jane@example.com` or `Jane Doe <jane@example.com>`.';
  const error: FieldError = { pointer, code: 'invalid_email', detail };
  return invalidFields([error]);
}
