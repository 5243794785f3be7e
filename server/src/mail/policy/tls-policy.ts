import { unreachable } from '../../lib/assert.ts';
import type { Resolver } from '../dns/resolver.ts';
import type { TlsPolicy } from '../smtp-client/start-tls.ts';
import { lookUpDane } from './dane.ts';
import type { MtaSts } from './mta-sts.ts';
import { policyAllowsHost } from './mta-sts-policy.ts';
import type { MxHost } from './mx.ts';

/**
 * How the connection to one mail host must be protected, from the three who may demand it: the
 * receiver by DANE, the receiver by MTA-STS, the sender's domain by `tls: required`. DANE wins over
 * MTA-STS (RFC 8461 section 2); none of them is ever answered by plaintext.
 */

export type TlsDecision =
  | { kind: 'policy'; policy: TlsPolicy }
  /** This host must not be used: the receiver's MTA-STS policy does not name it. */
  | { kind: 'host_refused'; detail: string }
  /** This host must not be used now; another one, or the same one later, may be. */
  | { kind: 'temporary'; detail: string };

export interface TlsPolicyRequest {
  domain: string;
  host: MxHost;
  /** Of the route that the host came from. */
  routeAuthenticated: boolean;
  /** The sender's domain says `tls: required`. */
  tlsRequired: boolean;
  /** Where the host is connected to, which is where its TLSA records are; 25 unless told. */
  port?: number;
}

export async function tlsPolicyFor(
  request: TlsPolicyRequest,
  resolver: Resolver,
  mtaSts: MtaSts,
): Promise<TlsDecision> {
  const { domain, host, port = 25 } = request;
  const dane = await lookUpDane({ ...request, port }, resolver);
  switch (dane.kind) {
    case 'usable': {
      const { records, names } = dane;
      return { kind: 'policy', policy: { kind: 'dane', records, names } };
    }
    case 'temporary':
      return dane;
    case 'unusable':
    case 'absent': {
      const sts = await mtaSts.policyFor(domain);
      if (sts?.mode === 'enforce') {
        if (policyAllowsHost(sts, host.host)) {
          return { kind: 'policy', policy: { kind: 'verified', names: [host.host] } };
        }
        const detail = `The MTA-STS policy of ${domain} does not name the mail server ${host.host}.`;
        return { kind: 'host_refused', detail };
      }
      const required = request.tlsRequired || dane.kind === 'unusable';
      return { kind: 'policy', policy: { kind: required ? 'required' : 'opportunistic' } };
    }
    default:
      return unreachable(dane);
  }
}
