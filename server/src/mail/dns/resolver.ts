import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { isLoopback } from '../../lib/net/client-network.ts';
import { type DnsAnswer, type DnsAnswerWithTtl, toDnsAnswer } from './answer.ts';
import { RCODE, type RecordType } from './dns-message.ts';
import { normalizeDnsName } from './dns-name.ts';
import { createQueryServer, type DnsServer } from './query-server.ts';

/**
 * A stub resolver: typed lookups in, typed answers out; a lookup never throws. Node's own resolver
 * hides the AD bit, which DANE depends on, and most TTLs, so this one talks to the configured
 * recursive servers directly. Answers, negative answers and failures are cached for a limited time
 * in limited memory, and identical concurrent lookups share one query.
 */

export type { DnsAnswer as Answer } from './answer.ts';
export type { MxRecord, RecordData, RecordType, TlsaRecord } from './dns-message.ts';

export interface Resolver {
  /** `fresh` bypasses the cache and replaces the cached answer. */
  lookup<T extends RecordType>(
    type: T,
    name: string,
    options?: { fresh?: boolean },
  ): Promise<DnsAnswer<T>>;
}

export interface DnsServerAddress {
  host: string;
  port: number;
}

export interface ResolverSettings {
  clock: Clock;
  /** Recursive servers, such as `127.0.0.1:5354`, `::1` or `[::1]:53`; the system's if empty. */
  servers?: readonly (string | DnsServerAddress)[];
  /** For one attempt at one server. Servers that time out are tried twice. */
  timeoutMs?: number;
  cacheEntriesMax?: number;
  inFlightMax?: number;
  /**
   * Trust the AD bit of servers that are not on this machine. Off by default, because an attacker
   * between us and the server could set it.
   */
  trustRemoteAuthentication?: boolean;
}

const ATTEMPTS_PER_SERVER = 2;
const TTL_MAX_SECONDS = 3600;
const NEGATIVE_TTL_MAX_SECONDS = 300;
/**
 * RFC 9520 section 3.2 requires at least one second, so that an outage does not cause a query
 * storm.
 */
const FAILURE_TTL_SECONDS = 5;
const SYSTEM_SERVERS_TTL_MS = 30_000;

interface CacheEntry {
  answer: Promise<DnsAnswer>;
  expiresAtMs: number;
}

export function createResolver(settings: ResolverSettings): Resolver {
  const { clock, timeoutMs = 2000, cacheEntriesMax = 20_000, inFlightMax = 256 } = settings;
  const cache = new Map<string, CacheEntry>();
  const limitConcurrency = concurrencyLimit(inFlightMax);
  const servers = serverList(settings);
  const queryServer = createQueryServer({ timeoutMs, clock });

  return { lookup };

  function lookup<T extends RecordType>(
    type: T,
    text: string,
    options?: { fresh?: boolean },
  ): Promise<DnsAnswer<T>> {
    const name = normalizeDnsName(text);
    // A name that is not valid in DNS does not exist.
    if (name === undefined) return Promise.resolve({ kind: 'nxdomain', authenticated: false });
    const key = `${type} ${name}`;
    const cached = cache.get(key);
    if (cached && !options?.fresh && cached.expiresAtMs > clock.now()) {
      return cached.answer as Promise<DnsAnswer<T>>;
    }
    return queryAndCache(key, type, name);
  }

  function queryAndCache<T extends RecordType>(
    key: string,
    type: T,
    name: string,
  ): Promise<DnsAnswer<T>> {
    const entry: CacheEntry = { expiresAtMs: Number.POSITIVE_INFINITY, answer: query() };
    // Deleting first moves the key to the end, so the first entry is always the oldest.
    cache.delete(key);
    cache.set(key, entry);
    if (cache.size > cacheEntriesMax) {
      for (const oldest of cache.keys()) {
        cache.delete(oldest);
        break;
      }
    }
    return entry.answer as Promise<DnsAnswer<T>>;

    async function query(): Promise<DnsAnswer<T>> {
      const { answer, ttlSeconds } = await limitConcurrency(() => queryServers(type, name));
      const boundedSeconds = Math.min(ttlSeconds, ttlMaxSeconds(answer));
      if (boundedSeconds > 0) entry.expiresAtMs = clock.now() + boundedSeconds * 1000;
      else if (cache.get(key) === entry) cache.delete(key);
      return answer;
    }
  }

  /**
   * Servers that time out get a second attempt; one that responded, even with an error, does not.
   */
  async function queryServers<T extends RecordType>(
    type: T,
    name: string,
  ): Promise<DnsAnswerWithTtl<T>> {
    const remaining = new Set(servers.inOrder());
    let detail = 'no DNS server is configured';
    for (let round = 0; round < ATTEMPTS_PER_SERVER; round++) {
      for (const server of remaining) {
        const outcome = await queryServer(server, type, name);
        if (outcome.kind === 'failed') {
          detail = outcome.detail;
          continue;
        }
        const answer = toDnsAnswer(outcome.response, type, name, server.trusted);
        if (answer) {
          servers.prefer(server);
          return answer;
        }
        detail = `the server returned ${rcodeName(outcome.response.rcode)}`;
        remaining.delete(server);
      }
    }
    detail = `DNS lookup of ${type} ${name} failed: ${detail}.`;
    return { answer: { kind: 'failed', detail }, ttlSeconds: FAILURE_TTL_SECONDS };
  }
}

function ttlMaxSeconds(answer: DnsAnswer): number {
  return answer.kind === 'found' ? TTL_MAX_SECONDS : NEGATIVE_TTL_MAX_SECONDS;
}

function rcodeName(rcode: number): string {
  const entry = Object.entries(RCODE).find(([, code]) => code === rcode);
  return entry ? entry[0] : `RCODE ${rcode}`;
}

/** The servers to query, starting with the last one that responded. */
function serverList(settings: ResolverSettings): {
  inOrder(): DnsServer[];
  prefer(server: DnsServer): void;
} {
  const { clock, trustRemoteAuthentication = false } = settings;
  const { servers: configured = [] } = settings;
  const usesSystemServers = configured.length === 0;
  let list = (usesSystemServers ? getServers() : configured).map(parse);
  let readAtMs = clock.now();
  let preferred = list[0];
  return {
    inOrder() {
      // The system's servers change when a laptop changes networks.
      if (usesSystemServers && clock.now() - readAtMs > SYSTEM_SERVERS_TTL_MS) {
        list = getServers().map(parse);
        readAtMs = clock.now();
        preferred = list[0];
      }
      const start = Math.max(0, preferred ? list.indexOf(preferred) : 0);
      return [...list.slice(start), ...list.slice(0, start)];
    },
    prefer(server) {
      preferred = server;
    },
  };

  function parse(server: string | DnsServerAddress): DnsServer {
    const at = typeof server === 'string' ? parseServer(server) : server;
    return toDnsServer(at, trustRemoteAuthentication);
  }
}

function parseServer(text: string): DnsServerAddress {
  const [, bracketed, plain, portText] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const port = portText === undefined ? 53 : Number(portText);
  return { host: bracketed ?? plain ?? text, port };
}

function toDnsServer({ host, port }: DnsServerAddress, trustRemote: boolean): DnsServer {
  assert(isIP(host) !== 0 && port > 0 && port < 65536, `${host} ${port} is a DNS server address`);
  return { address: host, port, trusted: isLoopback(host) || trustRemote };
}

/** Runs at most `max` tasks concurrently; each one holds a socket. */
function concurrencyLimit(max: number): <R>(task: () => Promise<R>) => Promise<R> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running >= max) await new Promise<void>((go) => waiting.push(go));
    else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      // Hand the slot over directly, so that a newcomer cannot take it in between.
      if (next) next();
      else running -= 1;
    }
  };
}
