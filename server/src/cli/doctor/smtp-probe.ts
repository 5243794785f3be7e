import type { X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { IpRanges } from '../../lib/net/ip-ranges.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  NO_CAPABILITIES,
  parseCapabilities,
  type SmtpCapabilities,
} from '../../mail/smtp-client/capabilities.ts';
import { CommandChannel } from '../../mail/smtp-client/command-channel.ts';
import { connectTcp, type SocketError, socketReady } from '../../mail/smtp-client/tcp-connect.ts';

/** What a client of one of our SMTP ports sees up to AUTH; no message is submitted. */
export interface SmtpProbe {
  greeting: string;
  /** The address that the connection came from. */
  localAddress: string;
  /** Before STARTTLS, or after the handshake with implicit TLS. */
  capabilities: SmtpCapabilities;
  /** Undefined without TLS. */
  certificate: PresentedCertificate | undefined;
}

export interface PresentedCertificate {
  leaf: X509Certificate;
  /** Why a client on this host does not trust it; undefined when it does. */
  trustError: string | undefined;
}

export interface ProbeTarget {
  host: string;
  port: number;
  implicitTls: boolean;
  /** The host name that clients are configured with. */
  servername: string;
  trustProxy: readonly string[];
}

const RESPONSE_TIMEOUT_MS = 10_000;

export async function probeSmtp(
  target: ProbeTarget,
  heloName: string,
  clock: Clock,
): Promise<SmtpProbe | SocketError> {
  const wait = { clock, timeoutMs: RESPONSE_TIMEOUT_MS, signal: undefined };
  const tcp = await connectTcp({ ip: target.host, port: target.port }, wait);
  if ('kind' in tcp) return tcp;
  using _open = { [Symbol.dispose]: () => void tcp.destroy() };
  tcp.on('error', () => {});
  const from = tcp.localAddress ?? '';
  sendProxyHeader(tcp, target.trustProxy);
  let secure = target.implicitTls ? await secured(tcp, target.servername) : undefined;
  if (secure && 'kind' in secure) return secure;
  const channel = new CommandChannel(secure ?? tcp, clock);
  const greeting = await channel.command(null, 'greeting', RESPONSE_TIMEOUT_MS);
  if ('kind' in greeting) return greeting;
  const ehlo = await channel.command(`EHLO ${heloName}`, 'ehlo', RESPONSE_TIMEOUT_MS);
  if ('kind' in ehlo) return ehlo;
  const offers = ehlo.reply.code < 300 ? parseCapabilities(ehlo.lines) : NO_CAPABILITIES;
  if (!secure && offers.startTls) {
    const reply = await channel.command('STARTTLS', 'starttls', RESPONSE_TIMEOUT_MS);
    const plain = channel.detach();
    if ('kind' in reply || 'kind' in plain) return 'kind' in reply ? reply : (plain as SocketError);
    secure = await secured(plain, target.servername);
    if ('kind' in secure) return secure;
  }
  const certificate = secure && presentedCertificate(secure);
  secure?.destroy();
  return {
    greeting: greeting.lines[0] ?? '',
    localAddress: from,
    capabilities: offers,
    certificate,
  };

  async function secured(socket: Socket, name: string): Promise<TLSSocket | SocketError> {
    const upgraded = connectTls({
      socket,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
      ...(isIP(name) === 0 ? { servername: name } : {}),
    });
    const trouble = await socketReady(upgraded, 'secureConnect', wait);
    if (trouble) return { kind: 'tls_failed', detail: trouble.detail };
    upgraded.on('error', () => {});
    return upgraded;
  }
}

/**
 * A port that trusts this host as a proxy expects a PROXY header: this one says that there is none.
 */
export function sendProxyHeader(socket: Socket, trustProxy: readonly string[]): void {
  if (new IpRanges(trustProxy).includes(socket.localAddress ?? '')) {
    socket.write('PROXY UNKNOWN\r\n');
  }
}

function presentedCertificate(socket: TLSSocket): PresentedCertificate | undefined {
  const leaf = socket.getPeerX509Certificate();
  if (!leaf) return undefined;
  // Typed as an Error, but at run time it is an error code.
  const trustError = socket.authorized ? undefined : String(socket.authorizationError);
  return { leaf, trustError };
}
