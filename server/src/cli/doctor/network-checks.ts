import { connect } from 'node:net';
import type { OutgoingAddresses } from '../../config/outgoing.ts';
import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { createResolver, type Resolver } from '../../mail/dns/resolver.ts';
import { type Finding, fail, ok } from './finding.ts';
import { introduceOurselves } from './smtp-look.ts';

/** The way out: names, name servers and, when asked, a receiver's port. */

/** Any answer will do, also that there is no such record: only silence is a fault. */
export async function checkNameServers(
  { dnsServers }: Config['delivery'],
  clock: Clock,
): Promise<Finding> {
  const name = 'name servers';
  const servers = serversOf(dnsServers);
  const answer = await resolverOf({ dnsServers }, clock).lookup('MX', 'example.com', {
    fresh: true,
  });
  const who = servers.length > 0 ? servers.join(', ') : 'The system’s name servers';
  return answer.kind === 'failed'
    ? fail(
        name,
        `${who} gave no answer.`,
        'Set DNS_SERVERS to servers that answer: without them no live mail leaves.',
      )
    : ok(name, `${who} answered.`);
}

export function resolverOf(
  { dnsServers }: Pick<Config['delivery'], 'dnsServers'>,
  clock: Clock,
): Resolver {
  return createResolver({ clock, servers: dnsServers });
}

function serversOf(dnsServers: Config['delivery']['dnsServers']): string[] {
  return dnsServers.map(({ host, port }) =>
    host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
  );
}

const GREETING_WITHIN_MS = 10_000;

/** Many networks let nothing out to port 25; only a try can tell. */
export async function checkOutgoing(
  host: string,
  { mxPort: port, outgoing }: Pick<Config['delivery'], 'mxPort' | 'outgoing'>,
): Promise<Finding> {
  const name = 'outgoing mail';
  const heard = await greetingOf(host, port, { from: outgoing });
  return heard.greeting?.startsWith('220')
    ? ok(name, `${host}:${port} greeted us: ${heard.greeting}`)
    : fail(
        name,
        `${host}:${port} did not greet us: ${heard.greeting ?? heard.reason}.`,
        heard.reason?.includes('ENOTFOUND')
          ? 'There is no server of this name. Give one that takes mail, such as gmail-smtp-in.l.google.com.'
          : 'If this is so for several receivers, your network closes the port: ask its owner to open it, or send through a relay (DELIVERY_ROUTE).',
      );
}

/** The first line that a server says, or why there is none. */
export function greetingOf(
  host: string,
  port: number,
  { trustProxy = [], from }: { trustProxy?: readonly string[]; from?: OutgoingAddresses } = {},
): Promise<{ greeting?: string; reason?: string }> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: GREETING_WITHIN_MS, ...(from && wayOut(from)) });
    let text = '';
    const end = (result: { greeting?: string; reason?: string }): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setEncoding('latin1');
    socket.on('connect', () => introduceOurselves(socket, trustProxy));
    socket.on('data', (chunk: string) => {
      text += chunk;
      const [line, rest] = text.split('\r\n', 2);
      if (rest !== undefined || text.length > 2048) end({ greeting: printable(line ?? '') });
    });
    socket.on('timeout', () => end({ reason: 'it did not answer in time' }));
    socket.on('error', (error) => end({ reason: error.message }));
    socket.on('close', () => end({ reason: 'it closed the connection' }));
  });
}

/** As mail leaves: by IPv4 first. */
function wayOut({ ipv4, ipv6 }: OutgoingAddresses): { family?: 4 | 6; localAddress?: string } {
  const address = ipv4 ?? ipv6;
  const bound = address === undefined || address === 'any' ? {} : { localAddress: address };
  if (ipv4 === 'any' && ipv6 === 'any') return bound;
  return { ...bound, family: ipv4 === undefined ? 6 : 4 };
}

/** A stranger's words end up on a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?').slice(0, 200);
}

/** Whether a greeting is that of a port of ours. */
export function isOurs(greeting: string, heloName: string): boolean {
  return greeting.toLowerCase().startsWith(`220 ${heloName.toLowerCase()} `);
}

/** Where a client on this machine finds what listens there. */
export function reachable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}
