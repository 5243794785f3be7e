import { unreachable } from '../../lib/assert.ts';
import type { Resolver } from '../dns/resolver.ts';
import type { TlsPolicy } from '../smtp-client/start-tls.ts';
import { lookUpDane } from './dane.ts';
import type { MtaSts } from './mta-sts.ts';
import { policyAllowsHost } from './mta-sts-policy.ts';
import type { MxHost } from './mx.ts';

/**
 * Decides how the connection to a mail host must be protected. DANE and MTA-STS of the receiver and
 * `tls: required` of the sender's domain can require TLS. DANE takes precedence over MTA-STS (RFC
 * 8461 section 2); none of them ever falls back to plaintext.
 */

export type TlsDecision =
  | { kind: 'policy'; policy: TlsPolicy }
  /** The host must not be used: the receiver's MTA-STS policy does not include it. */
  | { kind: 'host_refused'; detail: string }
  /** The host must not be used now; another host, or a later attempt, may work. */
  | { kind: 'temporary'; detail: string };

export interface TlsPolicyRequest {
  domain: string;
  host: MxHost;
  /** Whether the MX answer was DNSSEC-validated. */
  routeAuthenticated: boolean;
  /** The sender's domain requires TLS. */
  tlsRequired: boolean;
  /** The port to connect to, which is also the port of the TLSA records; 25 by default. */
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
        const detail = `The MTA-STS policy of ${domain} does not include the mail server ${host.host}.`;
        return { kind: 'host_refused', detail };
      }
      const required = request.tlsRequired || dane.kind === 'unusable';
      return { kind: 'policy', policy: { kind: required ? 'required' : 'opportunistic' } };
    }
    default:
      return unreachable(dane);
  }
}
