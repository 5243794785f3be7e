import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import { assert } from '../../lib/assert.ts';
import { isLoopback } from '../../lib/net/client-network.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { type DnsAnswer, type DnsAnswerWithTtl, toDnsAnswer } from './answer.ts';
import { RCODE, type RecordData, type RecordType } from './dns-message.ts';
import { normalizeDnsName } from './dns-name.ts';
import { createQueryServer, type DnsServer } from './query-server.ts';

/**
 * A stub resolver: typed lookups in, typed answers out; a lookup never throws. Node's own resolver
 * hides the AD bit, which DANE depends on, and most TTLs, so this one talks to the configured
 * recursive servers directly. Answers, negative answers and failures are cached for a limited time
 * in limited memory, and identical concurrent lookups share one query.
 */

export interface Resolver {
  lookup<T extends RecordType>(
    type: T,
    name: string,
    options?: LookupOptions,
  ): Promise<DnsAnswer<T>>;
}

export interface LookupOptions {
  /** Bypasses the cache and replaces the cached answer. */
  fresh?: boolean;
  /** How long the absence of records may be cached, if the zone allows; five minutes by default. */
  negativeTtlMaxSeconds?: number;
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
  /** The approximate memory of the cached answers. */
  cacheBytesMax?: number;
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

/** The answers for some 110,000 receiving domains: an MX record and no MTA-STS policy. */
const CACHE_BYTES_MAX = 96 * 1024 * 1024;

/** Measured: of an entry without its key and answer, and of one record without its texts. */
const ENTRY_BYTES = 250;
const RECORD_BYTES = 150;

interface CacheEntry {
  /** A promise while the query is in progress. */
  answer: Promise<DnsAnswer> | DnsAnswer;
  expiresAtMs: number;
  bytes: number;
}

export function createResolver(settings: ResolverSettings): Resolver {
  const { clock, timeoutMs = 2000, cacheBytesMax = CACHE_BYTES_MAX, inFlightMax = 256 } = settings;
  const cache = new Map<string, CacheEntry>();
  let cacheBytes = 0;
  const limitConcurrency = concurrencyLimit(inFlightMax);
  const servers = serverList(settings);
  const queryServer = createQueryServer({ timeoutMs, clock });

  return { lookup };

  function lookup<T extends RecordType>(
    type: T,
    text: string,
    options?: LookupOptions,
  ): Promise<DnsAnswer<T>> {
    const name = normalizeDnsName(text);
    // A name that is not valid in DNS does not exist.
    if (name === undefined) return Promise.resolve({ kind: 'nxdomain', authenticated: false });
    const key = `${type} ${name}`;
    const cached = cache.get(key);
    if (cached && !options?.fresh && cached.expiresAtMs > clock.now()) {
      return Promise.resolve(cached.answer) as Promise<DnsAnswer<T>>;
    }
    return queryAndCache(key, type, name, options?.negativeTtlMaxSeconds);
  }

  function queryAndCache<T extends RecordType>(
    key: string,
    type: T,
    name: string,
    negativeTtlMaxSeconds = NEGATIVE_TTL_MAX_SECONDS,
  ): Promise<DnsAnswer<T>> {
    remove(key);
    const answering = query();
    const entry: CacheEntry = {
      answer: answering,
      expiresAtMs: Number.POSITIVE_INFINITY,
      bytes: ENTRY_BYTES + key.length,
    };
    cache.set(key, entry);
    cacheBytes += entry.bytes;
    evict();
    return answering;

    async function query(): Promise<DnsAnswer<T>> {
      const { answer, ttlSeconds } = await limitConcurrency(() => queryServers(type, name));
      // Replaced by a fresh lookup, or evicted.
      if (cache.get(key) !== entry) return answer;
      const maxSeconds = answer.kind === 'found' ? TTL_MAX_SECONDS : negativeTtlMaxSeconds;
      const boundedSeconds = Math.min(ttlSeconds, maxSeconds);
      if (boundedSeconds <= 0) {
        remove(key);
        return answer;
      }
      entry.expiresAtMs = clock.now() + boundedSeconds * 1000;
      entry.answer = answer;
      const bytes = answerBytes(answer);
      entry.bytes += bytes;
      cacheBytes += bytes;
      evict();
      return answer;
    }
  }

  function remove(key: string): void {
    cacheBytes -= cache.get(key)?.bytes ?? 0;
    cache.delete(key);
  }

  /** Makes space, oldest first. Entries are in order of their queries, so the first expire first. */
  function evict(): void {
    const nowMs = clock.now();
    for (const [key, { expiresAtMs }] of cache) {
      if (cacheBytes <= cacheBytesMax && expiresAtMs > nowMs) return;
      remove(key);
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

function answerBytes(answer: DnsAnswer): number {
  if (answer.kind !== 'found') return answer.kind === 'failed' ? answer.detail.length : 0;
  let bytes = RECORD_BYTES + answer.canonical.length;
  for (const record of answer.records) bytes += RECORD_BYTES + textBytes(record);
  return bytes;
}

function textBytes(record: RecordData[RecordType]): number {
  if (typeof record === 'string') return record.length;
  if ('host' in record) return record.host.length;
  if ('data' in record) return record.data.length;
  return record.reduce((bytes, text) => bytes + text.length, 0);
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
