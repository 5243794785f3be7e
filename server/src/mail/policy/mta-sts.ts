import type { Clock } from '../../lib/time/clock.ts';
import { normalizeDnsName } from '../dns/dns-name.ts';
import type { Resolver } from '../dns/resolver.ts';
import type { FetchPolicy } from './mta-sts-fetch.ts';
import { parseStsPolicy, readStsId, type StsPolicy } from './mta-sts-policy.ts';

/**
 * MTA-STS (RFC 8461): returns the TLS policy that a receiving domain publishes, or undefined. A
 * cached policy stays valid for its max_age even if its DNS record or web server disappears,
 * because an attacker could block them. A failed fetch is not repeated within five minutes.
 */

export interface MtaSts {
  policyFor(domain: string): Promise<StsPolicy | undefined>;
}

export interface MtaStsSettings {
  resolver: Resolver;
  clock: Clock;
  fetchPolicy: FetchPolicy;
  entriesMax?: number;
}

interface CachedPolicy {
  /** The last policy that was fetched, and the id it was announced with. */
  policy: StsPolicy | undefined;
  id: string | undefined;
  expiresAtMs: number;
  /** When to refresh the policy even though the id is unchanged. */
  refreshAtMs: number;
  /** No fetch before this time, after a failed one. */
  retryAtMs: number;
}

const FETCH_RETRY_MS = 5 * 60_000;
const REFRESH_MAX_MS = 24 * 3_600_000;
/** Most domains have no policy, and one that adds it announces nothing that must apply at once. */
const ABSENCE_MAX_SECONDS = 3600;
/** Minimum cache time, so that max_age 0 does not cause a request for every message. */
const CACHE_MIN_MS = 5 * 60_000;

export function createMtaSts(settings: MtaStsSettings): MtaSts {
  const { resolver, clock, fetchPolicy, entriesMax = 10_000 } = settings;
  const policies = new Map<string, CachedPolicy>();
  const fetching = new Map<string, Promise<void>>();

  return { policyFor };

  async function policyFor(text: string): Promise<StsPolicy | undefined> {
    const domain = normalizeDnsName(text);
    if (domain === undefined) return undefined;
    const answer = await resolver.lookup('TXT', `_mta-sts.${domain}`, {
      negativeTtlMaxSeconds: ABSENCE_MAX_SECONDS,
    });
    const id = answer.kind === 'found' ? readStsId(answer.records) : undefined;
    const entry = policies.get(domain);
    const cachedPolicy = unexpired(entry);
    const now = clock.now();
    if (id === undefined || (entry && now < entry.retryAtMs)) return cachedPolicy;
    if (cachedPolicy && entry?.id === id) {
      // The cached policy is still valid, so the refresh runs in the background.
      if (now >= entry.refreshAtMs) void fetchOnce(domain, id);
      return cachedPolicy;
    }
    await fetchOnce(domain, id);
    return unexpired(policies.get(domain));
  }

  function unexpired(entry: CachedPolicy | undefined): StsPolicy | undefined {
    return entry && entry.expiresAtMs > clock.now() ? entry.policy : undefined;
  }

  function fetchOnce(domain: string, id: string): Promise<void> {
    const pending = fetching.get(domain);
    if (pending) return pending;
    const started = fetchAndCache(domain, id).finally(() => fetching.delete(domain));
    fetching.set(domain, started);
    return started;
  }

  async function fetchAndCache(domain: string, id: string): Promise<void> {
    const fetched = await fetchPolicy(domain);
    const policy = fetched.kind === 'fetched' ? parseStsPolicy(fetched.text) : undefined;
    const now = clock.now();
    const before = policies.get(domain);
    // Deleting first moves the domain to the end, so the first entry is always the oldest.
    policies.delete(domain);
    policies.set(domain, policy ? cacheEntry(policy, id, now) : failedEntry(before, now));
    for (const oldest of policies.keys()) {
      if (policies.size <= entriesMax) break;
      policies.delete(oldest);
    }
  }
}

function cacheEntry(policy: StsPolicy, id: string, now: number): CachedPolicy {
  const holdMs = Math.max(policy.maxAgeSeconds * 1000, CACHE_MIN_MS);
  const refreshAtMs = now + Math.min(holdMs / 2, REFRESH_MAX_MS);
  return { policy, id, expiresAtMs: now + holdMs, refreshAtMs, retryAtMs: 0 };
}

function failedEntry(before: CachedPolicy | undefined, now: number): CachedPolicy {
  const none = { policy: undefined, id: undefined, expiresAtMs: 0, refreshAtMs: 0 };
  return { ...(before ?? none), retryAtMs: now + FETCH_RETRY_MS };
}
