import net from 'node:net';
import tls from 'node:tls';
import type { TlsaRecord } from '../dns/dns-message.ts';
import { checkDane } from './check-dane.ts';
import type { TlsInfo } from './smtp-results.ts';
import { type SocketError, type SocketWait, socketReady } from './tcp-connect.ts';

/** The required protection of a connection to one receiver. */
export type TlsPolicy =
  /** Plaintext, for a receiver whose STARTTLS just failed under `opportunistic`. */
  | { kind: 'none' }
  /** TLS if offered, without verification; protects only against passive eavesdropping. */
  | { kind: 'opportunistic' }
  /** TLS is mandatory; the certificate is not verified. */
  | { kind: 'required' }
  /** TLS is mandatory, with a certificate for one of `names` from a trusted CA (MTA-STS). */
  | { kind: 'verified'; names: readonly string[]; ca?: string | readonly string[] }
  /**
   * TLS is mandatory, with a certificate that matches DNSSEC-validated TLSA records. `names[0]` is
   * the TLSA base domain.
   */
  | { kind: 'dane'; names: readonly string[]; records: readonly TlsaRecord[] };

export type TlsResult =
  | { ok: true; socket: tls.TLSSocket; info: TlsInfo }
  | ({ ok: false } & SocketError);

/** Starts TLS on a connected socket and verifies the receiver according to the policy. */
export async function startTls(
  socket: net.Socket,
  host: string,
  policy: TlsPolicy,
  wait: SocketWait,
): Promise<TlsResult> {
  const servername = policy.kind === 'dane' ? (policy.names[0] ?? host) : host;
  // From here on, errors of this socket are reported by the TLS socket around it.
  socket.on('error', () => {});
  const secured = tls.connect({
    socket,
    secureContext: contextFor(policy),
    ...(net.isIP(servername) ? {} : { servername }),
    // The policy is checked after the handshake, so that a bad certificate can be distinguished
    // from a failed handshake.
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

/** Contexts are expensive to create and hold no connection state. */
function contextFor(policy: TlsPolicy): tls.SecureContext {
  if (policy.kind === 'verified' && policy.ca) {
    return tls.createSecureContext({ minVersion: 'TLSv1.2', ca: [policy.ca].flat() as string[] });
  }
  // The only alternative under an opportunistic policy is plaintext, so weak keys and curves are
  // allowed. The TLS version is still at least 1.2.
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

function checkNames(names: readonly string[], certificate: tls.PeerCertificate): Error | undefined {
  if (names.some((name) => tls.checkServerIdentity(name, certificate) === undefined))
    return undefined;
  return new Error(`it is not for ${names.join(' or ')}`);
}

/** A connection that closes during the handshake is a TLS failure, not a network failure. */
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
      if (!leaf) return { detail: 'The receiver sent no certificate.' };
      const verdict = checkDane(leaf, policy.records, policy.names, nowMs);
      if (verdict.matched === false) return { detail: verdict.detail };
      return { verified: verdict.matched === 'no_usable_record' ? 'no' : verdict.matched };
    }
  }
}
