import { normalizeDnsName } from '../dns/dns-name.ts';

/** A receiver's MTA-STS policy, published over HTTPS (RFC 8461 section 3.2). */
export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none';
  /** Lower case; `*.example.com` matches exactly one more label. */
  mx: readonly string[];
  maxAgeSeconds: number;
}

const MAX_AGE_LIMIT_SECONDS = 31_557_600;
const MX_PATTERNS_MAX = 100;

/** Parses a policy file; undefined when it is not valid. */
export function parseStsPolicy(text: string): StsPolicy | undefined {
  const fields = new Map<string, string>();
  const mx: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,31})[ \t]*:(.*)$/.exec(line);
    if (!match) {
      if (line.trim() === '') continue;
      return undefined;
    }
    const [, key = '', padded = ''] = match;
    // In linear time: the file is the receiver's, and may be 64 KB of blanks.
    const value = padded.trim();
    if (key === 'mx') mx.push(value);
    // The first of repeated fields counts.
    else if (!fields.has(key)) fields.set(key, value);
  }
  const mode = fields.get('mode');
  const maxAge = fields.get('max_age') ?? '';
  if (fields.get('version') !== 'STSv1' || !/^\d{1,10}$/.test(maxAge)) return undefined;
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return undefined;
  const patterns = mx.map(normalizePattern).filter((pattern) => pattern !== undefined);
  if (patterns.length === 0 && mode !== 'none') return undefined;
  return {
    mode,
    mx: patterns.slice(0, MX_PATTERNS_MAX),
    maxAgeSeconds: Math.min(Number(maxAge), MAX_AGE_LIMIT_SECONDS),
  };
}

function normalizePattern(text: string): string | undefined {
  if (!text.startsWith('*.')) return normalizeDnsName(text);
  const parent = normalizeDnsName(text.slice(2));
  return parent === undefined ? undefined : `*.${parent}`;
}

/** Whether the policy includes this mail host, which must be a normalized name. */
export function policyAllowsHost(policy: StsPolicy, host: string): boolean {
  const parent = host.slice(host.indexOf('.') + 1);
  return policy.mx.some((pattern) =>
    pattern.startsWith('*.') ? pattern.slice(2) === parent && parent !== host : pattern === host,
  );
}

/**
 * The id in the `_mta-sts` TXT record, which changes with the policy. Undefined unless exactly one
 * STSv1 record exists (section 3.1).
 */
export function readStsId(records: readonly (readonly string[])[]): string | undefined {
  const ours = records
    .map((strings) => strings.join(''))
    .filter((text) => /^v=STSv1\s*;/.test(text));
  if (ours.length !== 1) return undefined;
  const [, id] = /;\s*id\s*=\s*([A-Za-z0-9]{1,32})\s*(?:;|$)/.exec(ours[0] ?? '') ?? [];
  return id;
}
