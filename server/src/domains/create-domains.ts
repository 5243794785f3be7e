import type { Pool } from '../db/connections/pool.ts';
import type { Log } from '../lib/log.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { GenerateDkimKeys } from '../mail/dkim/keys.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import { DkimKeyGenerator, dkimEncryptor } from './dkim-key-generator.ts';
import type { MailHosts } from './domain.ts';
import { DomainVerifier } from './domain-verifier.ts';
import { Domains } from './domains.ts';
import { PerWorkspaceResolver } from './per-workspace-resolver.ts';

export interface CreateDomainsParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  secretKey: Buffer;
  /** Empty: the system's resolvers. */
  dnsServers: readonly { host: string; port: number }[];
  settings: MailHosts & { graceMs: number };
  generateDkimKeys?: GenerateDkimKeys | undefined;
}

/** Concurrent lookups of all workspaces; delivery has a resolver of its own. */
const DNS_CONCURRENCY_MAX = 64;

/** Wires up the domains module, for the server and for CLI commands that work without one. */
export function createDomains(parts: CreateDomainsParts): {
  domains: Domains;
  verifier: DomainVerifier;
} {
  const { pool, clock, log } = parts;
  const { graceMs, ...hosts } = parts.settings;
  const resolver = createResolver({
    clock,
    inFlightMax: DNS_CONCURRENCY_MAX,
    servers: parts.dnsServers,
  });
  const resolvers = new PerWorkspaceResolver(resolver, DNS_CONCURRENCY_MAX);
  const verifier = new DomainVerifier({ pool, clock, log, resolvers, hosts, graceMs });
  const keyGenerator = new DkimKeyGenerator(dkimEncryptor(parts.secretKey), parts.generateDkimKeys);
  return {
    domains: new Domains({ pool, clock, keyGenerator, verifier, resolvers, hosts, graceMs }),
    verifier,
  };
}
