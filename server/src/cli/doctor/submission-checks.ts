import { isLoopback } from '../../lib/net/client-network.ts';
import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { SocketTrouble } from '../../mail/smtp-client/tcp-connect.ts';
import { checkCertificate, readFiles } from './certificate-checks.ts';
import { type Finding, ok, warn } from './finding.ts';
import { isOurs, printable, reachable } from './network-checks.ts';
import { lookAtPort, type SmtpLook } from './smtp-look.ts';

/** The doors for programs that speak SMTP: open, encrypted, and with a certificate that serves. */

type Seen = SmtpLook | SocketTrouble | undefined;

export async function checkSubmission(config: Config, clock: Clock): Promise<Finding[]> {
  const { port, tlsPort, tls } = config.submission;
  if (!config.roles.has('smtp')) {
    return [ok('submission', 'This process takes no mail by SMTP (ROLES).')];
  }
  if (port === undefined && tlsPort === undefined) {
    return [ok('submission', 'SUBMISSION_PORT is off: mail is taken over HTTP alone.')];
  }
  const first = await look(port, false);
  const second = await look(tlsPort, true);
  return [
    ...(first ? [judgeDoor(config, first)] : []),
    ...(second ? [judgeTlsDoor(config, second)] : []),
    ...(tls ? await checkFiles(config, [first, second], clock) : []),
  ];

  async function look(wanted: number | undefined, implicitTls: boolean): Promise<Seen> {
    if (wanted === undefined) return undefined;
    const { host, trustProxy } = config.submission;
    const servername = toldName(config);
    const place = { host: reachable(host), port: wanted, implicitTls, servername, trustProxy };
    return await lookAtPort(place, config.delivery.heloName, clock);
  }
}

/** The server that `GET /smtp` tells programs to name. */
function toldName({ submission, http }: Config): string {
  const host = submission.reachedAt?.host ?? new URL(http.baseUrl).hostname;
  return host.replace(/^\[|\]$/g, '');
}

const START_AGAIN = 'It was started with other settings: start it again.';

function judgeDoor({ submission, delivery }: Config, seen: SmtpLook | SocketTrouble): Finding {
  const name = 'submission';
  const place = `${submission.host}:${submission.port}`;
  if ('kind' in seen) return notThere(name, place, seen);
  if (!isOurs(seen.greeting, delivery.heloName)) {
    const fix = 'Set SUBMISSION_PORT to a free port, or stop that program.';
    return warn(name, `Another program listens on ${place}: ${printable(seen.greeting)}`, fix);
  }
  const open = `The door on ${place} is open`;
  const { startTls, auth } = seen.offers;
  const isForUs = submission.host === 'localhost' || isLoopback(submission.host);
  if (submission.tls && !startTls) {
    return warn(name, `${open}, but does not offer STARTTLS.`, START_AGAIN);
  }
  if (submission.allowPlaintext && !isForUs) {
    const detail = `${open}, and takes keys that cross the network unencrypted.`;
    const fix = 'Set a certificate, and SUBMISSION_ALLOW_PLAINTEXT to false.';
    return warn(name, detail, fix);
  }
  // From this very machine a key may pass unencrypted; any other must not even be asked for one.
  if (auth.size > 0 && !submission.allowPlaintext && !isLoopback(seen.from)) {
    return warn(name, `${open}, and asks for keys before encryption.`, START_AGAIN);
  }
  if (submission.tls) return ok(name, `${open}, and offers STARTTLS.`);
  if (isForUs) return ok(name, `${open}, to programs on this machine.`);
  if (submission.trustProxy.length > 0 && submission.reachedAt?.tlsPort !== undefined) {
    return ok(name, `${open}, to proxies that take TLS off (SUBMISSION_URL).`);
  }
  const fix = 'Set SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY. docs/smtp.md tells more.';
  return warn(name, `${open}, but without a certificate other machines cannot log in.`, fix);
}

function judgeTlsDoor({ submission, delivery }: Config, seen: SmtpLook | SocketTrouble): Finding {
  const name = 'submission with TLS';
  const place = `${submission.host}:${submission.tlsPort}`;
  const fix = 'Set SUBMISSION_TLS_PORT to a free port, or stop that program.';
  if ('kind' in seen && seen.kind === 'tls_failed') {
    return warn(name, `Another program listens on ${place}, without TLS: ${seen.detail}`, fix);
  }
  if ('kind' in seen) return notThere(name, place, seen);
  return isOurs(seen.greeting, delivery.heloName)
    ? ok(name, `The door on ${place} is open, with TLS from the first byte.`)
    : warn(name, `Another program listens on ${place}: ${printable(seen.greeting)}`, fix);
}

function notThere(name: string, place: string, { detail }: SocketTrouble): Finding {
  return ok(name, `Nothing greets us on ${place} (${printable(detail)}): no server runs there.`);
}

/** The one that a server shows, or else the file that it would take. */
async function checkFiles(config: Config, looks: Seen[], clock: Clock): Promise<Finding[]> {
  const { tls } = config.submission;
  if (!tls) return [];
  const onDisk = await readFiles(tls);
  if ('status' in onDisk) return [onDisk];
  const shown = looks.flatMap((seen) => (seen && 'offers' in seen && seen.shown) || []);
  return checkCertificate(shown[0] ?? onDisk, toldName(config), clock.now());
}
