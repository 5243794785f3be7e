import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import { DomainKeyMaker, dkimSealer } from './dkim-key-generator.ts';
import type { MailHosts } from './domain.ts';
import { DomainVerifier } from './domain-verifier.ts';
import { Domains } from './domains.ts';
import { FairQuestions } from './per-workspace-resolver.ts';

export interface OpenDomainsParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  secretKey: Buffer;
  /** Empty: the system's. */
  dnsServers: readonly { host: string; port: number }[];
  settings: MailHosts & { graceMs: number };
}

/** Questions at the same time, of all workspaces: delivery has a resolver of its own. */
const DNS_IN_FLIGHT_MAX = 64;

/** The room of domains, joined: for the server, and for commands that work without one. */
export function openDomains(parts: OpenDomainsParts): {
  domains: Domains;
  verifier: DomainVerifier;
} {
  const { pool, clock, log } = parts;
  const { graceMs, ...hosts } = parts.settings;
  const resolver = createResolver({
    clock,
    inFlightMax: DNS_IN_FLIGHT_MAX,
    servers: parts.dnsServers,
  });
  const questions = new FairQuestions(resolver, DNS_IN_FLIGHT_MAX);
  const verifier = new DomainVerifier({ pool, clock, log, questions, hosts, graceMs });
  const keyMaker = new DomainKeyMaker(dkimSealer(parts.secretKey));
  return {
    domains: new Domains({ pool, clock, keyMaker, verifier, hosts, graceMs }),
    verifier,
  };
}
