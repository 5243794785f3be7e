/**
 * Parses command lines (RFC 5321 section 4.1). A line is UTF-8 or it is nothing: decoding invalid
 * bytes with replacement characters would turn one address into another.
 */

export interface SmtpCommand {
  /** Upper case. */
  verb: string;
  /** The rest of the line. */
  argument: string;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Undefined when the line is not valid UTF-8. */
export function decodeLine(line: Buffer): string | undefined {
  try {
    return UTF8.decode(line);
  } catch {
    return undefined;
  }
}

export function parseCommand(line: string): SmtpCommand {
  const text = line.trim();
  const space = text.search(/\s/);
  if (space === -1) return { verb: text.toUpperCase(), argument: '' };
  return { verb: text.slice(0, space).toUpperCase(), argument: text.slice(space + 1).trim() };
}

/** Browsers can be made to send a request to any port; its body could contain commands. */
export function isHttpRequest(line: string): boolean {
  return /^[A-Za-z]{3,10} \/\S* HTTP\/\d/.test(line);
}

export interface PathArgument {
  /** Without angle brackets; empty for the null sender. */
  address: string;
  /** By upper-case name; a parameter without a value is an empty string. */
  parameters: ReadonlyMap<string, string>;
}

/** What the argument of MAIL (`FROM:<…>`) or RCPT (`TO:<…>`) is, or why it is not acceptable. */
export type ParsedPath = { ok: true; path: PathArgument } | { ok: false; reason: PathError };

export type PathError = 'address' | 'parameters';

/** A quoted local part may contain spaces and angle brackets. */
const PATH = /^<((?:"(?:[^"\\]|\\.)*"|[^"<>\s])*)>(?:\s+(.*))?$/;

export function parsePath(keyword: 'FROM' | 'TO', argument: string): ParsedPath {
  const start = argument.slice(0, keyword.length).toUpperCase();
  const rest = argument.slice(keyword.length).trimStart();
  if (start !== keyword || !rest.startsWith(':')) return { ok: false, reason: 'address' };
  const match = PATH.exec(rest.slice(1).trim());
  if (!match) return { ok: false, reason: 'address' };
  const [, path = '', options = ''] = match;
  // A source route must be accepted and should be ignored (RFC 5321 appendix C).
  const address = path.replace(/^@[^\s,:@]+(?:,@[^\s,:@]+)*:/, '');
  if (!isPlausibleAddress(address)) return { ok: false, reason: 'address' };
  const parameters = parseParameters(options);
  return parameters
    ? { ok: true, path: { address, parameters } }
    : { ok: false, reason: 'parameters' };
}

/** RFC 5321 section 4.5.3.1.3, without the angle brackets. */
const ADDRESS_BYTES_MAX = 254;

/** Control characters, and invisible characters that make one address look like another. */
const UNSAFE = /[\p{Cc}\u200b\u2060\ufeff]/u;

/**
 * Only what any server would accept as a sender. Whether an address can receive mail is decided by
 * the listener. A recipient without a domain is the postmaster (RFC 5321 section 4.1.1.3).
 */
function isPlausibleAddress(address: string): boolean {
  if (address === '' || address.toLowerCase() === 'postmaster') return true;
  if (UNSAFE.test(address) || Buffer.byteLength(address) > ADDRESS_BYTES_MAX) return false;
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  const isQuoted = /^".*"$/.test(local);
  return at > 0 && at < address.length - 1 && (isQuoted || !/["@\s]/.test(local));
}

/** Undefined when a parameter is malformed or given twice. */
function parseParameters(text: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  for (const word of text.split(/\s+/)) {
    if (word === '') continue;
    const [, name, value = ''] = /^([A-Za-z0-9][A-Za-z0-9-]*)(?:=(\S*))?$/.exec(word) ?? [];
    if (name === undefined || parameters.has(name.toUpperCase())) return undefined;
    parameters.set(name.toUpperCase(), value);
  }
  return parameters;
}

/**
 * The parameters that each command accepts, and the values that each may have. Those of MAIL belong to
 * extensions that the reply to EHLO lists. Some are accepted without being listed, and ignored:
 *
 * - AUTH, because EHLO no longer lists it for a client that has authenticated (RFC 4954 section 5).
 * - NOTIFY, because PHPMailer sends it whether or not DSN is listed. Outcomes are reported as events.
 */
const PARAMETERS: Readonly<Record<'MAIL' | 'RCPT', Readonly<Record<string, RegExp>>>> = {
  MAIL: {
    SIZE: /^\d{1,20}$/,
    BODY: /^(7BIT|8BITMIME)$/i,
    SMTPUTF8: /^$/,
    // An address as xtext (RFC 3461 section 4).
    AUTH: /^(<>|([!-*,-<>-~]|\+[0-9A-F]{2})+)$/,
  },
  RCPT: {
    NOTIFY: /^(NEVER|(SUCCESS|FAILURE|DELAY)(,(SUCCESS|FAILURE|DELAY))*)$/i,
  },
};

export interface RefusedParameter {
  name: string;
  /** `unknown` also means parameters of extensions that we do not offer. */
  reason: 'unknown' | 'invalid';
}

/**
 * The first parameter that cannot be accepted. A client that sends an unknown one relies on what it asks
 * for, such as delivery at a later time or encryption on the whole way, so it cannot be ignored.
 */
export function refusedParameter(
  command: 'MAIL' | 'RCPT',
  parameters: ReadonlyMap<string, string>,
): RefusedParameter | undefined {
  const accepted = PARAMETERS[command];
  for (const [name, value] of parameters) {
    const values = Object.hasOwn(accepted, name) ? accepted[name] : undefined;
    if (!values) return { name, reason: 'unknown' };
    if (!values.test(value)) return { name, reason: 'invalid' };
  }
  return undefined;
}
