import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Config } from '../../config/read-config.ts';
import { type CheckResult, fail, ok, warn } from './doctor-result.ts';
import type { PresentedCertificate } from './smtp-probe.ts';

type Files = NonNullable<Config['submission']['tls']>;

const NAME = 'certificate';
const DAY_MS = 86_400_000;
const EXPIRES_SOON_MS = 14 * DAY_MS;
const RENEW_HINT = 'Renew it; new files are loaded without a restart.';

/** Checks the validity period, the host name and the issuer, as a client does. */
export function checkCertificate(
  { leaf, trustError }: PresentedCertificate,
  host: string,
  nowMs: number,
): CheckResult[] {
  const checks = [checkValidity(leaf, nowMs), checkHost(leaf, host), checkTrust(leaf, trustError)];
  const issues = checks.filter((result) => result !== undefined);
  if (issues.length > 0) return issues;
  return [ok(NAME, `The certificate for ${host} is valid until ${formatDate(leaf.validToDate)}.`)];
}

/** Reads the certificate files as the server does: the certificate, or the error. */
export async function readCertificateFiles(
  files: Files,
): Promise<PresentedCertificate | CheckResult> {
  try {
    const cert = await readFile(files.certFile, 'utf8');
    createSecureContext({ cert, key: await readFile(files.keyFile, 'utf8') });
    return parseCertificate(cert);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const detail = `${files.certFile} and ${files.keyFile} are not a matching certificate and key: ${why}`;
    return fail(
      NAME,
      detail,
      'A server does not start with them; a running one keeps the previous certificate.',
    );
  }
}

/** From a file the issuer is known only if the certificate is self-signed. */
export function parseCertificate(pem: string): PresentedCertificate {
  const leaf = new X509Certificate(pem);
  return { leaf, trustError: isSelfSigned(leaf) ? SELF_SIGNED : undefined };
}

function checkValidity(leaf: X509Certificate, nowMs: number): CheckResult | undefined {
  const endsAtMs = leaf.validToDate.getTime();
  if (leaf.validFromDate.getTime() > nowMs) {
    const detail = `The certificate is not valid before ${formatDate(leaf.validFromDate)}.`;
    return fail(NAME, detail, 'Check the clock of this host, or use another certificate.');
  }
  if (endsAtMs <= nowMs) {
    return fail(NAME, `The certificate expired on ${formatDate(leaf.validToDate)}.`, RENEW_HINT);
  }
  if (endsAtMs - nowMs > EXPIRES_SOON_MS) return undefined;
  const days = Math.floor((endsAtMs - nowMs) / DAY_MS);
  return warn(NAME, `The certificate expires in ${days} days.`, RENEW_HINT);
}

function checkHost(leaf: X509Certificate, host: string): CheckResult | undefined {
  const matches = isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host);
  if (matches !== undefined) return undefined;
  const names = leaf.subjectAltName?.replaceAll(/(DNS|IP Address):/g, '') ?? 'no name';
  return warn(
    NAME,
    `The certificate is for ${names}, not for ${host}, which clients use.`,
    'Use a certificate for that name, or set BASE_URL or SUBMISSION_URL to its name.',
  );
}

const SELF_SIGNED = 'DEPTH_ZERO_SELF_SIGNED_CERT';
/** Reported by checkValidity. */
const EXPIRY_ERRORS = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

function checkTrust(
  leaf: X509Certificate,
  trustError: string | undefined,
): CheckResult | undefined {
  if (trustError === undefined || EXPIRY_ERRORS.has(trustError)) return undefined;
  if (trustError === SELF_SIGNED || isSelfSigned(leaf)) {
    const detail = 'The certificate is self-signed; clients reject it by default.';
    return warn(NAME, detail, 'Use a certificate of a public authority such as Let’s Encrypt.');
  }
  return warn(
    NAME,
    `This host does not trust the certificate (${trustError}).`,
    'Append the intermediate certificates in SUBMISSION_TLS_CERT; a private authority must be installed on each client.',
  );
}

function isSelfSigned(leaf: X509Certificate): boolean {
  return leaf.checkIssued(leaf) && leaf.verify(leaf.publicKey);
}

function formatDate(date: Date): string {
  return date.toISOString().slice(0, 10);
}
