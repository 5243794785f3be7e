import { isIP } from 'node:net';
import type { Mode } from '../accounts/tenant-scope.ts';

/**
 * Whether a text may be the address of an endpoint, judged by its spelling alone; where it leads is
 * judged by target-guard.ts. Tenants choose it and our server follows, so what browsers would
 * forgive is refused here: a spelling that two parsers may read in two ways is a way around a check.
 */

export interface TargetRules {
  /** The operator's word that private addresses and plain http are wanted. */
  allowPrivate: boolean;
  portAllowed: (port: number) => boolean;
}

type Refused = { ok: false; code: string; detail: string };

export type ParsedTarget = { ok: true; url: URL } | Refused;

const URL_LENGTH_MAX = 2048;

/** The first endpoint of many is on the developer's own machine. */
export const HOW_ALLOWED = 'The operator allows such endpoints with WEBHOOK_ALLOW_PRIVATE=true.';

export function parseTarget(text: string, mode: Mode, rules: TargetRules): ParsedTarget {
  const spelling = /^(https?):\/\/([^/?#]*)/i.exec(text);
  if (text.length > URL_LENGTH_MAX || UNPRINTABLE.test(text)) {
    return refused(
      'invalid_url',
      `Give an address of at most ${URL_LENGTH_MAX} visible characters.`,
    );
  }
  if (!spelling || !URL.canParse(text)) {
    return refused(
      'invalid_url',
      'Give an http or https address, such as https://example.com/hooks.',
    );
  }
  const url = new URL(text);
  url.hash = '';
  const authority = spelling[2] as string;
  if (authority.includes('@')) {
    return refused('credentials_in_url', 'Leave out user name and password: use headers instead.');
  }
  if (isOdd(authority, hostOf(url))) {
    return refused(
      'invalid_url',
      'Write the host plainly: a name, or an address in its usual form.',
    );
  }
  return refusedByRules(url, mode, rules) ?? { ok: true, url };
}

/** By the operator's rules, which may be others by now than when the endpoint was made. */
export function refusedByRules(url: URL, mode: Mode, rules: TargetRules): Refused | undefined {
  const host = hostOf(url);
  if (isIP(host) === 0 && !host.includes('.') && !rules.allowPrivate) {
    return refused('private_target', `${host} leads into the server's own network. ${HOW_ALLOWED}`);
  }
  if (url.protocol === 'http:' && mode === 'live' && !rules.allowPrivate) {
    return refused(
      'https_required',
      `A live endpoint takes https: its events are not for others. ${HOW_ALLOWED}`,
    );
  }
  if (!rules.portAllowed(portOf(url))) {
    return refused('port_not_allowed', `Port ${portOf(url)} is not allowed by the operator.`);
  }
  return undefined;
}

/** The host as sockets take it: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** Spaces, controls, and the backslash that some take for a slash. */
const UNPRINTABLE = /[\s\\\p{Cc}\p{Cf}]/u;

/** Octal, hexadecimal and one-number addresses, escapes, foreign dots, a dot at the end. */
function isOdd(authority: string, host: string): boolean {
  if (authority === '' || host.endsWith('.') || /[%。．｡]/u.test(authority)) return true;
  if (isIP(host) === 0) return false;
  const written = authority
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  // The shorter forms of IPv6 are many and mean the same; those of IPv4 are how checks are evaded.
  return isIP(host) === 4 ? written !== host : isIP(written) !== 6;
}

function refused(code: string, detail: string): Refused {
  return { ok: false, code, detail };
}
