import { domainToASCII } from 'node:url';

const LABELS_MAX_LENGTH = 253;
const LABEL_MAX_LENGTH = 63;
const PLAIN = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const IPV4_SHAPE = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * A domain name in the one spelling that we compare and cache by: lower case, A-labels, no trailing
 * dot. Undefined for a text that DNS cannot carry as a host or service name, so such a name can
 * never reach a question, a log or an SMTP command.
 */
export function normalizeDnsName(text: string): string | undefined {
  let name = text;
  if (!PLAIN.test(name)) {
    name = name.toLowerCase();
    if (name.endsWith('.')) name = name.slice(0, -1);
    // domainToASCII also decodes %-escapes and full-width dots: only foreign letters go through it.
    if (/[^\0-\x7f]/.test(name)) name = /[%\\]/.test(name) ? '' : domainToASCII(name);
    if (!PLAIN.test(name)) return undefined;
  }
  if (name.length > LABELS_MAX_LENGTH) return undefined;
  if (name.length <= LABEL_MAX_LENGTH) return name;
  return name.split('.').every((label) => label.length <= LABEL_MAX_LENGTH) ? name : undefined;
}

/** Whether a name that DNS can carry is really an address somebody typed where a host belongs. */
export function looksLikeIp(name: string): boolean {
  return IPV4_SHAPE.test(name) || name.includes(':');
}
