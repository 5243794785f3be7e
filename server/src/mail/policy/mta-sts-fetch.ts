import { request } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '../../lib/time/clock.ts';
import type { Resolver } from '../dns/resolver.ts';

/**
 * Fetches an MTA-STS policy over HTTPS. The host name is chosen by others, so its address is
 * resolved and checked here, and the connection goes to exactly that address. Redirects are not
 * followed (RFC 8461 section 3.3), and both time and size are limited.
 */

export type FetchedPolicy = { kind: 'fetched'; text: string } | { kind: 'failed'; detail: string };

export type FetchPolicy = (domain: string) => Promise<FetchedPolicy>;

export interface FetchPolicySettings {
  resolver: Resolver;
  clock: Clock;
  addressAllowed: (ip: string) => boolean;
  timeoutMs?: number;
  /** Tests override the port and the CA. */
  port?: number;
  ca?: string;
}

/** The limit that RFC 8461 section 3.3 suggests. */
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
      const timer = clock.after(timeoutMs, () => fail(`no response within ${timeoutMs} ms`));
      req.on('error', (error) => fail(error.message));
      req.on('response', (response) => {
        const type = response.headers['content-type'] ?? '';
        if (response.statusCode !== 200)
          return fail(`the response status is ${response.statusCode}`);
        if (!/^text\/plain\s*(;|$)/i.test(type))
          return fail(`the content type is ${type || 'missing'}`);
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (length > POLICY_BYTES_MAX) return fail('the policy is too long');
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
          detail: `Fetching the MTA-STS policy of ${domain} failed: ${reason}.`,
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
        const error: NodeJS.ErrnoException = new Error('the host has no usable address');
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
