import { getServers } from 'node:dns';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Answer, readAnswer, type TimedAnswer } from './answer.ts';
import { RCODE, type RecordType } from './dns-message.ts';
import { normalName } from './dns-name.ts';
import { type DnsServer, exchange } from './query-server.ts';

/**
 * Questions to the DNS come in, typed answers leave; a look-up never throws. Node's own resolver
 * hides the AD bit that DANE rests on and most TTLs, so this one speaks to the configured recursive
 * servers itself. Answers, absences and failures are remembered for a bounded time in bounded
 * memory, and equal questions asked at the same moment travel once.
 */

export type { Answer } from './answer.ts';
export type { MxRecord, RecordData, RecordType, TlsaRecord } from './dns-message.ts';

export interface Resolver {
  /** `fresh` asks the servers again even when an answer is remembered, and remembers the new one. */
  lookup<T extends RecordType>(
    type: T,
    name: string,
    options?: { fresh?: boolean },
  ): Promise<Answer<T>>;
}

export interface ServerAt {
  host: string;
  port: number;
}

export interface ResolverSettings {
  clock: Clock;
  /** Recursive servers, as `127.0.0.1:5354`, `::1` or `[::1]:53` too; the system's when there are none. */
  servers?: readonly (string | ServerAt)[];
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

const ROUNDS = 2;
const TTL_MAX_SECONDS = 3600;
const NEGATIVE_TTL_MAX_SECONDS = 300;
/** RFC 9520 section 3.2 asks for at least one second, so that an outage is not answered by a storm. */
const FAILURE_TTL_SECONDS = 5;
const SYSTEM_SERVERS_TTL_MS = 30_000;

interface Remembered {
  answer: Promise<Answer>;
  expiresAtMs: number;
}

export function createResolver(settings: ResolverSettings): Resolver {
  const { clock, timeoutMs = 2000, cacheEntriesMax = 20_000, inFlightMax = 256 } = settings;
  const remembered = new Map<string, Remembered>();
  const limit = concurrencyLimit(inFlightMax);
  const servers = serverList(settings);

  return { lookup };

  function lookup<T extends RecordType>(
    type: T,
    text: string,
    options?: { fresh?: boolean },
  ): Promise<Answer<T>> {
    const name = normalName(text);
    // A name that DNS cannot carry does not exist, today or later.
    if (name === undefined) return Promise.resolve({ kind: 'nxdomain', authenticated: false });
    const key = `${type} ${name}`;
    const known = remembered.get(key);
    if (known && !options?.fresh && known.expiresAtMs > clock.now()) {
      return known.answer as Promise<Answer<T>>;
    }
    return askAndRemember(key, type, name);
  }

  function askAndRemember<T extends RecordType>(
    key: string,
    type: T,
    name: string,
  ): Promise<Answer<T>> {
    const entry: Remembered = { expiresAtMs: Number.POSITIVE_INFINITY, answer: ask() };
    // Deleting first moves the key to the end: the oldest entry is always the first one.
    remembered.delete(key);
    remembered.set(key, entry);
    if (remembered.size > cacheEntriesMax) {
      for (const oldest of remembered.keys()) {
        remembered.delete(oldest);
        break;
      }
    }
    return entry.answer as Promise<Answer<T>>;

    async function ask(): Promise<Answer<T>> {
      const { answer, ttlSeconds } = await limit(() => askServers(type, name));
      const boundedSeconds = Math.min(ttlSeconds, ttlMaxSeconds(answer));
      if (boundedSeconds > 0) entry.expiresAtMs = clock.now() + boundedSeconds * 1000;
      else if (remembered.get(key) === entry) remembered.delete(key);
      return answer;
    }
  }

  /** Silent servers get a second round; one that answered, however badly, has had its say. */
  async function askServers<T extends RecordType>(type: T, name: string): Promise<TimedAnswer<T>> {
    const waiting = new Set(servers.inOrder());
    let detail = 'no DNS server is configured';
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of waiting) {
        const outcome = await exchange(server, type, name, { timeoutMs, clock });
        if (outcome.kind === 'failed') {
          detail = outcome.detail;
          continue;
        }
        const answer = readAnswer(outcome.reply, type, name, server.trusted);
        if (answer) {
          servers.prefer(server);
          return answer;
        }
        detail = `the server answered ${rcodeName(outcome.reply.rcode)}`;
        waiting.delete(server);
      }
    }
    detail = `The DNS look-up of ${type} ${name} failed: ${detail}.`;
    return { answer: { kind: 'failed', detail }, ttlSeconds: FAILURE_TTL_SECONDS };
  }
}

function ttlMaxSeconds(answer: Answer): number {
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
  const { servers: given = [] } = settings;
  const isSystems = given.length === 0;
  let list = (isSystems ? getServers() : given).map(parse);
  let readAtMs = clock.now();
  let preferred = list[0];
  return {
    inOrder() {
      // A laptop changes networks, and its servers with them, while we run.
      if (isSystems && clock.now() - readAtMs > SYSTEM_SERVERS_TTL_MS) {
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

  function parse(server: string | ServerAt): DnsServer {
    const at = typeof server === 'string' ? readServer(server) : server;
    return serverAt(at, trustRemoteAuthentication);
  }
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function readServer(text: string): ServerAt {
  const [, bracketed, plain, portText] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const port = portText === undefined ? 53 : Number(portText);
  return { host: bracketed ?? plain ?? text, port };
}

function serverAt({ host, port }: ServerAt, trustRemote: boolean): DnsServer {
  assert(isIP(host) !== 0 && port > 0 && port < 65536, `${host} ${port} is a DNS server address`);
  const local = LOOPBACK.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
  return { address: host, port, trusted: local || trustRemote };
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
