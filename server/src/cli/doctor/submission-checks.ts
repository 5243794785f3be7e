import type { Config } from '../../config/read-config.ts';
import { isLoopback } from '../../lib/net/client-network.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { SocketError } from '../../mail/smtp-client/tcp-connect.ts';
import { checkCertificate, readCertificateFiles } from './certificate-checks.ts';
import { type CheckResult, ok, warn } from './doctor-result.ts';
import { connectableHost, isOwnGreeting, printable } from './network-checks.ts';
import { probeSmtp, type SmtpProbe } from './smtp-probe.ts';

/** Checks the SMTP submission ports: listening, encrypted, and with a valid certificate. */

type ProbeResult = SmtpProbe | SocketError | undefined;

export async function checkSubmission(config: Config, clock: Clock): Promise<CheckResult[]> {
  const { port, tlsPort, tls } = config.submission;
  if (!config.roles.has('smtp')) {
    return [ok('submission', 'SMTP submission is not enabled in this process (ROLES).')];
  }
  if (port === undefined && tlsPort === undefined) {
    return [ok('submission', 'SUBMISSION_PORT is off: mail is accepted over HTTP only.')];
  }
  const first = await probe(port, false);
  const second = await probe(tlsPort, true);
  return [
    ...(first ? [startTlsResult(config, first)] : []),
    ...(second ? [implicitTlsResult(config, second)] : []),
    ...(tls ? await checkSubmissionCertificate(config, [first, second], clock) : []),
  ];

  async function probe(
    portToProbe: number | undefined,
    implicitTls: boolean,
  ): Promise<ProbeResult> {
    if (portToProbe === undefined) return undefined;
    const { host, trustProxy } = config.submission;
    const servername = advertisedHost(config);
    const target = {
      host: connectableHost(host),
      port: portToProbe,
      implicitTls,
      servername,
      trustProxy,
    };
    return await probeSmtp(target, config.delivery.heloName, clock);
  }
}

/** The host name that `GET /smtp` tells clients to use. */
function advertisedHost({ submission, http }: Config): string {
  const host = submission.publicAddress?.host ?? new URL(http.baseUrl).hostname;
  return host.replace(/^\[|\]$/g, '');
}

const RESTART_HINT = 'The running server has other settings: restart it.';

function startTlsResult(
  { submission, delivery }: Config,
  probed: SmtpProbe | SocketError,
): CheckResult {
  const name = 'submission';
  const address = `${submission.host}:${submission.port}`;
  if ('kind' in probed) return notListening(name, address, probed);
  if (!isOwnGreeting(probed.greeting, delivery.heloName)) {
    const fix = 'Set SUBMISSION_PORT to a free port, or stop that program.';
    return warn(
      name,
      `Another program is listening on ${address}: ${printable(probed.greeting)}`,
      fix,
    );
  }
  const open = `Listening on ${address}`;
  const { startTls, auth } = probed.capabilities;
  const isForUs = submission.host === 'localhost' || isLoopback(submission.host);
  if (submission.tls && !startTls) {
    return warn(name, `${open}, but STARTTLS is not offered.`, RESTART_HINT);
  }
  if (submission.allowPlaintext && !isForUs) {
    const detail = `${open}, and accepts API keys over unencrypted connections.`;
    const fix = 'Configure a certificate and set SUBMISSION_ALLOW_PLAINTEXT to false.';
    return warn(name, detail, fix);
  }
  // Keys may be sent unencrypted from this host; other clients must not even be offered AUTH.
  if (auth.size > 0 && !submission.allowPlaintext && !isLoopback(probed.localAddress)) {
    return warn(name, `${open}, and offers AUTH before encryption.`, RESTART_HINT);
  }
  if (submission.tls) return ok(name, `${open} with STARTTLS.`);
  if (isForUs) return ok(name, `${open} for clients on this host.`);
  if (submission.trustProxy.length > 0 && submission.publicAddress?.tlsPort !== undefined) {
    return ok(name, `${open} behind a TLS-terminating proxy (SUBMISSION_URL).`);
  }
  const fix = 'Set SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY. See docs/smtp.md.';
  return warn(name, `${open}, but without a certificate other hosts cannot authenticate.`, fix);
}

function implicitTlsResult(
  { submission, delivery }: Config,
  probed: SmtpProbe | SocketError,
): CheckResult {
  const name = 'submission with TLS';
  const address = `${submission.host}:${submission.tlsPort}`;
  const fix = 'Set SUBMISSION_TLS_PORT to a free port, or stop that program.';
  if ('kind' in probed && probed.kind === 'tls_failed') {
    return warn(
      name,
      `Another program is listening on ${address}, without TLS: ${probed.detail}`,
      fix,
    );
  }
  if ('kind' in probed) return notListening(name, address, probed);
  return isOwnGreeting(probed.greeting, delivery.heloName)
    ? ok(name, `Listening on ${address} with implicit TLS.`)
    : warn(name, `Another program is listening on ${address}: ${printable(probed.greeting)}`, fix);
}

function notListening(name: string, address: string, { detail }: SocketError): CheckResult {
  return ok(
    name,
    `Nothing is listening on ${address} (${printable(detail)}); no server is running there.`,
  );
}

/** The certificate that a running server presents, otherwise the file. */
async function checkSubmissionCertificate(
  config: Config,
  probes: ProbeResult[],
  clock: Clock,
): Promise<CheckResult[]> {
  const { tls } = config.submission;
  if (!tls) return [];
  const onDisk = await readCertificateFiles(tls);
  if ('status' in onDisk) return [onDisk];
  const presented = probes.flatMap(
    (probed) => (probed && 'capabilities' in probed && probed.certificate) || [],
  );
  return checkCertificate(presented[0] ?? onDisk, advertisedHost(config), clock.now());
}
