import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { expect } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Route } from '../../src/delivery/delivery.ts';
import type { RouteSetting } from '../../src/delivery/delivery-plan.ts';
import type { SenderDomains } from '../../src/delivery/outgoing-mail.ts';
import { type ShapingRules, shapingBy } from '../../src/delivery/shaping.ts';
import { smtpRoute } from '../../src/delivery/smtp-route.ts';
import { generateDkimKeys, loadPrivateKey } from '../../src/mail/dkim-keys.ts';
import type { DkimKey } from '../../src/mail/dkim-sign.ts';
import { createResolver } from '../../src/mail/dns.ts';
import { createMtaSts } from '../../src/mail/mta-sts.ts';
import type { SmtpTimeouts } from '../../src/mail/smtp-timeouts.ts';

/** The live route towards receivers and name servers of a test, with keys for example.com. */
export interface LiveRouteOptions {
  clock: Clock;
  /** As DNS_SERVERS takes it. */
  dns: string;
  mxPort?: number;
  routes?: RouteSetting[];
  tls?: 'opportunistic' | 'required';
  timeouts?: Partial<SmtpTimeouts>;
  shaping?: ShapingRules;
  isOwnAddress?: (ip: string, port: number) => boolean;
  senders?: SenderDomains;
  /** What a receiver's MTA-STS web server answers. */
  stsPolicy?: string;
}

export const RETURN_PATH_KEY = Buffer.alloc(32, 7);
export const HELO_NAME = 'mail.sender.test';

export function liveRoute(options: LiveRouteOptions): Route {
  const { clock } = options;
  const resolver = createResolver({ clock, servers: [options.dns] });
  const { stsPolicy } = options;
  const mtaSts = createMtaSts({
    resolver,
    clock,
    fetchPolicy: async () =>
      stsPolicy === undefined
        ? { kind: 'failed', detail: 'There is no policy file.' }
        : { kind: 'fetched', text: stsPolicy },
  });
  return smtpRoute({
    clock,
    resolver,
    mtaSts,
    routes: options.routes ?? [{ kind: 'direct' }],
    mxPort: options.mxPort ?? 25,
    addressAllowed: () => true,
    heloName: HELO_NAME,
    senders: options.senders ?? testSenders(options.tls),
    returnPathKey: RETURN_PATH_KEY,
    shaping: shapingBy(options.shaping),
    isOwnAddress: options.isOwnAddress ?? (() => false),
    ...(options.timeouts ? { timeouts: options.timeouts } : {}),
  });
}

const generated = await generateDkimKeys();

export const dkimKeys: DkimKey[] = [
  {
    algorithm: 'rsa',
    domain: 'example.com',
    selector: 'pr1',
    privateKey: loadPrivateKey(generated.rsa.privateKeyPem),
  },
  {
    algorithm: 'ed25519',
    domain: 'example.com',
    selector: 'pr1e',
    privateKey: loadPrivateKey(generated.ed25519.privateKeyPem),
  },
];

export function testSenders(tls: 'opportunistic' | 'required' = 'opportunistic'): SenderDomains {
  return {
    settingsFor: async () => ({ maySend: true, tls, returnPathHost: 'bounces.example.com' }),
    keysFor: async () => dkimKeys,
  };
}

/** Both signatures hold in an implementation that is not ours. */
export async function expectSigned(raw: Buffer): Promise<void> {
  const records: Record<string, string> = {
    'pr1._domainkey.example.com': generated.rsa.txtValue,
    'pr1e._domainkey.example.com': generated.ed25519.txtValue,
  };
  const resolver = async (name: string) => {
    const record = records[name];
    if (record === undefined) throw Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' });
    return [[record]];
  };
  const { results } = await dkimVerify(raw, { resolver });
  const verdicts = results.map(({ status }: { status: { result: string } }) => status.result);
  expect(verdicts).toEqual(['pass', 'pass']);
}
