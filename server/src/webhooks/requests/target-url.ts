import { isIP } from 'node:net';
import type { Mode } from '../../accounts/tenant-scope.ts';

/**
 * Checks the spelling of an endpoint URL; target-guard.ts checks where it leads. Tenants choose the
 * URL and our server connects to it, so forms that browsers tolerate are rejected: a spelling that
 * two parsers read differently is a way around a check.
 */

export interface TargetRules {
  /** Whether the operator allows private addresses and plain http. */
  allowPrivate: boolean;
  portAllowed: (port: number) => boolean;
}

type RefusedTarget = { ok: false; code: string; detail: string };

export type ParsedTarget = { ok: true; url: URL } | RefusedTarget;

const URL_LENGTH_MAX = 2048;

/** Most developers start with an endpoint on their own machine. */
export const ALLOW_PRIVATE_HINT =
  'The operator can allow such endpoints with WEBHOOK_ALLOW_PRIVATE=true.';

export function parseTarget(text: string, mode: Mode, rules: TargetRules): ParsedTarget {
  const spelling = /^(https?):\/\/([^/?#]*)/i.exec(text);
  if (text.length > URL_LENGTH_MAX || FORBIDDEN_CHARACTERS.test(text)) {
    return refused(
      'invalid_url',
      `Must be a URL of at most ${URL_LENGTH_MAX} printable characters.`,
    );
  }
  if (!spelling || !URL.canParse(text)) {
    return refused(
      'invalid_url',
      'Must be an http or https URL such as https://example.com/hooks.',
    );
  }
  const url = new URL(text);
  url.hash = '';
  const authority = spelling[2] as string;
  if (authority.includes('@')) {
    return refused(
      'credentials_in_url',
      'Must not contain a user name or password; use headers instead.',
    );
  }
  if (isAmbiguous(authority, hostOf(url))) {
    return refused(
      'invalid_url',
      'The host must be a plain name, or an IP address in its usual form.',
    );
  }
  return checkTargetRules(url, mode, rules) ?? { ok: true, url };
}

/**
 * Takes a user name and a password out of a URL, as other providers accept them there, and returns
 * them as a header: stored encrypted, never shown, and no part of what the checks have to read.
 */
export function splitCredentials(text: string): { url: string; headers: Record<string, string> } {
  const given = /^(https?:\/\/)([^/?#@:]+):([^/?#@]*)@(.*)$/is.exec(text);
  const [, scheme = '', user = '', password = '', rest = ''] = given ?? [];
  if (!given || !isEncoded(user) || !isEncoded(password)) return { url: text, headers: {} };
  const credentials = `${decodeURIComponent(user)}:${decodeURIComponent(password)}`;
  return {
    url: scheme + rest,
    headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
  };
}

function isEncoded(text: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(text) && !/%[89a-f]/i.test(text);
}

/** The operator's rules, which may have changed since the endpoint was created. */
export function checkTargetRules(
  url: URL,
  mode: Mode,
  rules: TargetRules,
): RefusedTarget | undefined {
  const host = hostOf(url);
  if (isIP(host) === 0 && !host.includes('.') && !rules.allowPrivate) {
    return refused(
      'private_target',
      `${host} is in the server's private network. ${ALLOW_PRIVATE_HINT}`,
    );
  }
  if (url.protocol === 'http:' && mode === 'live' && !rules.allowPrivate) {
    return refused('https_required', `Live endpoints must use https. ${ALLOW_PRIVATE_HINT}`);
  }
  if (!rules.portAllowed(portOf(url))) {
    return refused('port_not_allowed', `Port ${portOf(url)} is not allowed by the operator.`);
  }
  return undefined;
}

/** The host as sockets take it: an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** White space, control characters, and the backslash, which some parsers treat as a slash. */
const FORBIDDEN_CHARACTERS = /[\s\\\p{Cc}\p{Cf}]/u;

/** Octal, hexadecimal and single-number addresses, escapes, non-ASCII dots, a trailing dot. */
function isAmbiguous(authority: string, host: string): boolean {
  if (authority === '' || host.endsWith('.') || /[%。．｡]/u.test(authority)) return true;
  if (isIP(host) === 0) return false;
  const written = authority
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  // Short forms of IPv6 are common and unambiguous; those of IPv4 are used to evade checks.
  return isIP(host) === 4 ? written !== host : isIP(written) !== 6;
}

function refused(code: string, detail: string): RefusedTarget {
  return { ok: false, code, detail };
}
