import type { X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { IpRanges } from '../../lib/net/ip-ranges.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  NO_CAPABILITIES,
  parseCapabilities,
  type SmtpCapabilities,
} from '../../mail/smtp-client/capabilities.ts';
import { connectTcp, type SocketTrouble, socketReady } from '../../mail/smtp-client/tcp-connect.ts';
import { SmtpWire } from '../../mail/smtp-client/command-channel.ts';

/** What a client of a port of ours would see, up to the login; nothing is handed in. */
export interface SmtpLook {
  greeting: string;
  /** The address that we came from. */
  from: string;
  /** Before encryption, or behind it where that is how it begins. */
  offers: SmtpCapabilities;
  /** Undefined when there is no encryption. */
  shown: ShownCertificate | undefined;
}

export interface ShownCertificate {
  leaf: X509Certificate;
  /** Why a client on this machine would not trust it; undefined when it would. */
  distrust: string | undefined;
}

export interface LookAt {
  host: string;
  port: number;
  implicitTls: boolean;
  /** The name that programs are told. */
  servername: string;
  trustProxy: readonly string[];
}

const ANSWER_WITHIN_MS = 10_000;

export async function lookAtPort(
  place: LookAt,
  heloName: string,
  clock: Clock,
): Promise<SmtpLook | SocketTrouble> {
  const wait = { clock, timeoutMs: ANSWER_WITHIN_MS, signal: undefined };
  const tcp = await connectTcp({ ip: place.host, port: place.port }, wait);
  if ('kind' in tcp) return tcp;
  using _open = { [Symbol.dispose]: () => void tcp.destroy() };
  tcp.on('error', () => {});
  const from = tcp.localAddress ?? '';
  introduceOurselves(tcp, place.trustProxy);
  let secure = place.implicitTls ? await secured(tcp, place.servername) : undefined;
  if (secure && 'kind' in secure) return secure;
  const wire = new SmtpWire(secure ?? tcp, clock);
  const greeting = await wire.ask(null, 'greeting', ANSWER_WITHIN_MS);
  if ('kind' in greeting) return greeting;
  const ehlo = await wire.ask(`EHLO ${heloName}`, 'ehlo', ANSWER_WITHIN_MS);
  if ('kind' in ehlo) return ehlo;
  const offers = ehlo.reply.code < 300 ? parseCapabilities(ehlo.lines) : NO_CAPABILITIES;
  if (!secure && offers.startTls) {
    const answer = await wire.ask('STARTTLS', 'starttls', ANSWER_WITHIN_MS);
    const bare = wire.detach();
    if ('kind' in answer || 'kind' in bare)
      return 'kind' in answer ? answer : (bare as SocketTrouble);
    secure = await secured(bare, place.servername);
    if ('kind' in secure) return secure;
  }
  const shown = secure && shownBy(secure);
  secure?.destroy();
  return { greeting: greeting.lines[0] ?? '', from, offers, shown };

  async function secured(socket: Socket, name: string): Promise<TLSSocket | SocketTrouble> {
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

/** A port that believes this machine as a proxy waits for a header: ours says that we are no proxy. */
export function introduceOurselves(socket: Socket, trustProxy: readonly string[]): void {
  if (new IpRanges(trustProxy).includes(socket.localAddress ?? '')) {
    socket.write('PROXY UNKNOWN\r\n');
  }
}

function shownBy(socket: TLSSocket): ShownCertificate | undefined {
  const leaf = socket.getPeerX509Certificate();
  if (!leaf) return undefined;
  // Declared as an Error, it is the code of one.
  const distrust = socket.authorized ? undefined : String(socket.authorizationError);
  return { leaf, distrust };
}
