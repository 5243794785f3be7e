import { connect } from 'node:net';
import type { OutgoingAddresses } from '../../config/outgoing-addresses.ts';
import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { createResolver, type Resolver } from '../../mail/dns/resolver.ts';
import { type CheckResult, fail, ok } from './doctor-result.ts';
import { sendProxyHeader } from './smtp-probe.ts';

/** Checks of outgoing connections: name servers and, on request, a receiver's port. */

/** Any response counts, including a missing record: only silence is a failure. */
export async function checkNameServers(
  { dnsServers }: Config['delivery'],
  clock: Clock,
): Promise<CheckResult> {
  const name = 'name servers';
  const servers = formatServers(dnsServers);
  const lookup = await createDoctorResolver({ dnsServers }, clock).lookup('MX', 'example.com', {
    fresh: true,
  });
  const which = servers.length > 0 ? servers.join(', ') : 'The system’s name servers';
  return lookup.kind === 'failed'
    ? fail(
        name,
        `${which} did not respond.`,
        'Set DNS_SERVERS to servers that respond; live mail cannot be delivered without.',
      )
    : ok(name, `${which} responded.`);
}

export function createDoctorResolver(
  { dnsServers }: Pick<Config['delivery'], 'dnsServers'>,
  clock: Clock,
): Resolver {
  return createResolver({ clock, servers: dnsServers });
}

function formatServers(dnsServers: Config['delivery']['dnsServers']): string[] {
  return dnsServers.map(({ host, port }) =>
    host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
  );
}

const GREETING_TIMEOUT_MS = 10_000;

/** Many networks block outgoing connections to port 25; only a connection shows it. */
export async function checkOutgoing(
  host: string,
  { mxPort: port, outgoing }: Pick<Config['delivery'], 'mxPort' | 'outgoing'>,
): Promise<CheckResult> {
  const name = 'outgoing mail';
  const result = await readGreeting(host, port, { from: outgoing });
  return result.greeting?.startsWith('220')
    ? ok(name, `${host}:${port} responded: ${result.greeting}`)
    : fail(
        name,
        `${host}:${port} did not respond as a mail server: ${result.greeting ?? result.reason}.`,
        result.reason?.includes('ENOTFOUND')
          ? 'Name a mail server, such as gmail-smtp-in.l.google.com, and check that this host can resolve its name.'
          : 'If this happens with several receivers, your network blocks the port: ask your provider to open it, or use a relay (DELIVERY_ROUTE).',
      );
}

/** The first line that a server sends, or why there is none. */
export function readGreeting(
  host: string,
  port: number,
  { trustProxy = [], from }: { trustProxy?: readonly string[]; from?: OutgoingAddresses } = {},
): Promise<{ greeting?: string; reason?: string }> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      timeout: GREETING_TIMEOUT_MS,
      ...(from && socketSource(from)),
    });
    let text = '';
    const end = (result: { greeting?: string; reason?: string }): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setEncoding('latin1');
    socket.on('connect', () => sendProxyHeader(socket, trustProxy));
    socket.on('data', (chunk: string) => {
      text += chunk;
      const [line, rest] = text.split('\r\n', 2);
      if (rest !== undefined || text.length > 2048) end({ greeting: printable(line ?? '') });
    });
    socket.on('timeout', () => end({ reason: 'timed out' }));
    socket.on('error', (error) => end({ reason: error.message }));
    socket.on('close', () => end({ reason: 'connection closed' }));
  });
}

/** IPv4 first, as for mail. */
function socketSource({ ipv4, ipv6 }: OutgoingAddresses): {
  family?: 4 | 6;
  localAddress?: string;
} {
  const address = ipv4 ?? ipv6;
  const bound = address === undefined || address === 'any' ? {} : { localAddress: address };
  if (ipv4 === 'any' && ipv6 === 'any') return bound;
  return { ...bound, family: ipv4 === undefined ? 6 : 4 };
}

/** Remote text is printed on a terminal, so control characters are replaced. */
export function printable(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?').slice(0, 200);
}

/** Whether a greeting is from one of our own ports. */
export function isOwnGreeting(greeting: string, heloName: string): boolean {
  return greeting.toLowerCase().startsWith(`220 ${heloName.toLowerCase()} `);
}

/** The address at which a client on this host reaches a listener. */
export function connectableHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}
