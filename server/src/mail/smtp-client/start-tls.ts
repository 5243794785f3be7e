import net from 'node:net';
import tls from 'node:tls';
import type { TlsaRecord } from '../dns/dns-message.ts';
import { checkDane } from './check-dane.ts';
import type { TlsInfo } from './smtp-results.ts';
import { type SocketError, type SocketWait, socketReady } from './tcp-connect.ts';

/** What we ask of the encryption towards one receiver. */
export type TlsPolicy =
  /** Plaintext: for a receiver whose STARTTLS has just failed under `opportunistic`. */
  | { kind: 'none' }
  /** TLS when offered, whoever answers; protects against listeners only. */
  | { kind: 'opportunistic' }
  /** TLS or nothing, the certificate is not checked. */
  | { kind: 'required' }
  /** TLS or nothing, with a certificate for one of `names` from an authority we trust (MTA-STS). */
  | { kind: 'verified'; names: readonly string[]; ca?: string | readonly string[] }
  /** TLS or nothing, with a certificate that DNSSEC-signed TLSA records vouch for. `names[0]` is
   * the TLSA base domain. */
  | { kind: 'dane'; names: readonly string[]; records: readonly TlsaRecord[] };

export type TlsResult =
  | { ok: true; socket: tls.TLSSocket; info: TlsInfo }
  | ({ ok: false } & SocketError);

/** Starts TLS on a connected socket and checks the receiver by the policy. */
export async function startTls(
  socket: net.Socket,
  host: string,
  policy: TlsPolicy,
  wait: SocketWait,
): Promise<TlsResult> {
  const servername = policy.kind === 'dane' ? (policy.names[0] ?? host) : host;
  // From here on troubles of the socket are told by the TLS socket around it.
  socket.on('error', () => {});
  const secured = tls.connect({
    socket,
    secureContext: contextFor(policy),
    ...(net.isIP(servername) ? {} : { servername }),
    // The policy is judged below, when the handshake is done: its answer is a fact to report, and
    // an exception out of the handshake would not tell a bad certificate from a broken TLS.
    rejectUnauthorized: false,
    checkServerIdentity: (_host, certificate) =>
      policy.kind === 'verified' ? checkNames(policy.names, certificate) : undefined,
  });
  const error = await socketReady(secured, 'secureConnect', wait);
  if (error) return { ok: false, ...toTlsError(error) };

  const checked = checkCertificate(secured, policy, wait.clock.now());
  if ('detail' in checked) {
    secured.on('error', () => {});
    secured.destroy();
    return { ok: false, kind: 'certificate_rejected', detail: checked.detail };
  }
  const version = secured.getProtocol() ?? 'unknown';
  const info: TlsInfo = { version, cipher: secured.getCipher().name, verified: checked.verified };
  return { ok: true, socket: secured, info };
}

const contexts = new Map<string, tls.SecureContext>();

/** Contexts are costly to make and hold no state of a connection. */
function contextFor(policy: TlsPolicy): tls.SecureContext {
  if (policy.kind === 'verified' && policy.ca) {
    return tls.createSecureContext({ minVersion: 'TLSv1.2', ca: [policy.ca].flat() as string[] });
  }
  // Without a policy the only other choice is plaintext, so old keys and curves are better than
  // none. The TLS version stays at 1.2 or above.
  const lax = policy.kind === 'opportunistic';
  const key = lax ? 'lax' : 'strict';
  let context = contexts.get(key);
  if (!context) {
    context = tls.createSecureContext({
      minVersion: 'TLSv1.2',
      ...(lax && { ciphers: `${tls.DEFAULT_CIPHERS}:@SECLEVEL=0` }),
    });
    contexts.set(key, context);
  }
  return context;
}

function checkNames(
  names: readonly string[],
  certificate: tls.PeerCertificate,
): Error | undefined {
  if (names.some((name) => tls.checkServerIdentity(name, certificate) === undefined))
    return undefined;
  return new Error(`it is not for ${names.join(' or ')}`);
}

/** A connection that ends within the handshake is a failure of TLS, not of the network. */
function toTlsError(error: SocketError): SocketError {
  if (error.kind === 'timed_out' || error.kind === 'aborted') return error;
  return { kind: 'tls_failed', detail: error.detail };
}

function checkCertificate(
  socket: tls.TLSSocket,
  policy: TlsPolicy,
  nowMs: number,
): { verified: TlsInfo['verified'] } | { detail: string } {
  switch (policy.kind) {
    case 'none':
    case 'opportunistic':
    case 'required':
      return { verified: 'no' };
    case 'verified': {
      if (socket.authorized) return { verified: 'pkix' };
      return { detail: `Certificate rejected: ${socket.authorizationError}` };
    }
    case 'dane': {
      const leaf = socket.getPeerX509Certificate();
      if (!leaf) return { detail: 'The receiver showed no certificate.' };
      const verdict = checkDane(leaf, policy.records, policy.names, nowMs);
      if (verdict.matched === false) return { detail: verdict.detail };
      return { verified: verdict.matched === 'no_usable_record' ? 'no' : verdict.matched };
    }
  }
}
