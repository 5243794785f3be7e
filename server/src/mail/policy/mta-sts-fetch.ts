import { request } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Resolver } from '../dns/resolver.ts';

/**
 * Fetches a policy file over HTTPS. The host name is chosen by strangers, so the address is looked
 * up and judged here and the connection goes to that very address; redirects are not followed
 * (RFC 8461 section 3.3), and neither time nor length is the other side's to decide.
 */

export type FetchedPolicy = { kind: 'fetched'; text: string } | { kind: 'failed'; detail: string };

export type FetchPolicy = (domain: string) => Promise<FetchedPolicy>;

export interface FetchPolicySettings {
  resolver: Resolver;
  clock: Clock;
  addressAllowed: (ip: string) => boolean;
  timeoutMs?: number;
  /** Other than 443 and the public CAs only where the other side is ours. */
  port?: number;
  ca?: string;
}

/** RFC 8461 section 3.3 suggests it. */
const POLICY_BYTES_MAX = 64 * 1024;

export function createPolicyFetcher(settings: FetchPolicySettings): FetchPolicy {
  const { clock, timeoutMs = 10_000, port = 443, ca } = settings;
  const lookup = guardedLookup(settings);
  return (domain) =>
    new Promise((resolve) => {
      const host = `mta-sts.${domain}`;
      const req = request({
        host,
        port,
        path: '/.well-known/mta-sts.txt',
        servername: host,
        lookup,
        agent: false,
        headers: { accept: 'text/plain' },
        ...(ca === undefined ? {} : { ca }),
      });
      const timer = clock.after(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
      req.on('error', (error) => fail(error.message));
      req.on('response', (response) => {
        const type = response.headers['content-type'] ?? '';
        if (response.statusCode !== 200) return fail(`the status is ${response.statusCode}`);
        if (!/^text\/plain\s*(;|$)/i.test(type)) return fail(`the type is ${type || 'not told'}`);
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (length > POLICY_BYTES_MAX) return fail('it is too long');
          chunks.push(chunk);
        });
        response.on('error', (error) => fail(error.message));
        response.on('end', () => {
          end({ kind: 'fetched', text: Buffer.concat(chunks).toString('utf8') });
        });
      });
      req.end();

      function fail(reason: string): void {
        end({
          kind: 'failed',
          detail: `The MTA-STS policy of ${domain} cannot be read: ${reason}.`,
        });
      }

      function end(outcome: FetchedPolicy): void {
        timer.cancel();
        req.destroy();
        resolve(outcome);
      }
    });
}

function guardedLookup({ resolver, addressAllowed }: FetchPolicySettings): LookupFunction {
  return (host, options, callback) => {
    void addressesOf(host).then((addresses) => {
      const [first] = addresses;
      if (!first) {
        const error: NodeJS.ErrnoException = new Error('the host has no address that we may use');
        error.code = 'ENOTFOUND';
        return callback(error, '', 4);
      }
      if (options.all) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };

  async function addressesOf(host: string): Promise<{ address: string; family: number }[]> {
    const [ipv4, ipv6] = await Promise.all([
      resolver.lookup('A', host),
      resolver.lookup('AAAA', host),
    ]);
    const a = ipv4.kind === 'found' ? ipv4.records : [];
    const aaaa = ipv6.kind === 'found' ? ipv6.records : [];
    return [
      ...a.map((address) => ({ address, family: 4 })),
      ...aaaa.map((address) => ({ address, family: 6 })),
    ].filter(({ address }) => addressAllowed(address));
  }
}
