import { getServers } from 'node:dns';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { type DnsAnswer, toDnsAnswer, type DnsAnswerWithTtl } from './answer.ts';
import { RCODE, type RecordType } from './dns-message.ts';
import { normalizeDnsName } from './dns-name.ts';
import { type DnsServer, queryServer } from './query-server.ts';

/**
 * Questions to the DNS come in, typed answers leave; a look-up never throws. Node's own resolver
 * hides the AD bit that DANE rests on and most TTLs, so this one speaks to the configured recursive
 * servers itself. Answers, absences and failures are remembered for a bounded time in bounded
 * memory, and equal questions asked at the same moment travel once.
 */

export type { DnsAnswer as Answer } from './answer.ts';
export type { MxRecord, RecordData, RecordType, TlsaRecord } from './dns-message.ts';

export interface Resolver {
  /** `fresh` asks the servers again even when an answer is remembered, and remembers the new one. */
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
  /** Recursive servers, as `127.0.0.1:5354`, `::1` or `[::1]:53` too; the system's when there are none. */
  servers?: readonly (string | DnsServerAddress)[];
  /** For one try at one server. Every silent server is tried twice. */
  timeoutMs?: number;
  cacheEntriesMax?: number;
  inFlightMax?: number;
  /**
   * Believe the AD bit of servers that are not on this machine. Off by default: whoever sits between
   * us and the server could set it.
   */
  trustRemoteAuthentication?: boolean;
}

const ATTEMPTS_PER_SERVER = 2;
const TTL_MAX_SECONDS = 3600;
const NEGATIVE_TTL_MAX_SECONDS = 300;
/** RFC 9520 section 3.2 asks for at least one second, so that an outage is not answered by a storm. */
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

  return { lookup };

  function lookup<T extends RecordType>(
    type: T,
    text: string,
    options?: { fresh?: boolean },
  ): Promise<DnsAnswer<T>> {
    const name = normalizeDnsName(text);
    // A name that DNS cannot carry does not exist, today or later.
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
    // Deleting first moves the key to the end: the oldest entry is always the first one.
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

  /** Silent servers get a second round; one that answered, however badly, has had its say. */
  async function queryServers<T extends RecordType>(type: T, name: string): Promise<DnsAnswerWithTtl<T>> {
    const remaining = new Set(servers.inOrder());
    let detail = 'no DNS server is configured';
    for (let round = 0; round < ATTEMPTS_PER_SERVER; round++) {
      for (const server of remaining) {
        const outcome = await queryServer(server, type, name, { timeoutMs, clock });
        if (outcome.kind === 'failed') {
          detail = outcome.detail;
          continue;
        }
        const answer = toDnsAnswer(outcome.response, type, name, server.trusted);
        if (answer) {
          servers.prefer(server);
          return answer;
        }
        detail = `the server answered ${rcodeName(outcome.response.rcode)}`;
        remaining.delete(server);
      }
    }
    detail = `The DNS look-up of ${type} ${name} failed: ${detail}.`;
    return { answer: { kind: 'failed', detail }, ttlSeconds: FAILURE_TTL_SECONDS };
  }
}

function ttlMaxSeconds(answer: DnsAnswer): number {
  return answer.kind === 'found' ? TTL_MAX_SECONDS : NEGATIVE_TTL_MAX_SECONDS;
}

function rcodeName(rcode: number): string {
  const known = Object.entries(RCODE).find(([, code]) => code === rcode);
  return known ? known[0] : `RCODE ${rcode}`;
}

/** The servers to ask, beginning with the last one that answered. */
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
      // A laptop changes networks, and its servers with them, while we run.
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

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function parseServer(text: string): DnsServerAddress {
  const [, bracketed, plain, portText] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const port = portText === undefined ? 53 : Number(portText);
  return { host: bracketed ?? plain ?? text, port };
}

function toDnsServer({ host, port }: DnsServerAddress, trustRemote: boolean): DnsServer {
  assert(isIP(host) !== 0 && port > 0 && port < 65536, `${host} ${port} is a DNS server address`);
  const isLoopback = LOOPBACK.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
  return { address: host, port, trusted: isLoopback || trustRemote };
}

/** Runs at most `max` tasks at once; every one holds a socket. */
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
      // The place passes straight to the next one, so that no newcomer can slip in between.
      if (next) next();
      else running -= 1;
    }
  };
}
