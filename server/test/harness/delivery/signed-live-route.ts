import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { expect } from 'vitest';
import type { SenderDomains } from '../../../src/delivery/transport/outgoing-mail.ts';
import type { DirectTransport } from '../../../src/delivery/transport/smtp-transport.ts';
import { generateDkimKeys, loadPrivateKey } from '../../../src/mail/dkim/keys.ts';
import type { DkimKey } from '../../../src/mail/dkim/sign.ts';
import { type LiveRouteOptions, liveRoute as routeOf } from './live-route.ts';

export { RETURN_PATH_KEY } from './live-route.ts';

/** The live route with DKIM keys for example.com, unless the test provides others. */
export interface SignedRouteOptions extends Omit<LiveRouteOptions, 'senders'> {
  senders?: SenderDomains;
  tls?: 'opportunistic' | 'required';
}

export function signedLiveRoute(options: SignedRouteOptions): DirectTransport {
  return routeOf({ ...options, senders: options.senders ?? testSenders(options.tls) });
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

/** Verifies both signatures with an independent implementation. */
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
