import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Config } from '../../config/read-config.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import type { ShownCertificate } from './smtp-look.ts';

type Files = NonNullable<Config['submission']['tls']>;

const NAME = 'certificate';
const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;
const RENEW = 'Renew it: the new files are taken up by themselves, without a restart.';

/** What a program that checks would say of it: when, for whom, by whom. */
export function checkCertificate(
  { leaf, distrust }: ShownCertificate,
  host: string,
  nowMs: number,
): Finding[] {
  const faults = [checkTime(leaf, nowMs), checkName(leaf, host), checkTrust(leaf, distrust)];
  const found = faults.filter((finding) => finding !== undefined);
  if (found.length > 0) return found;
  return [ok(NAME, `The certificate is for ${host}, and good until ${dayOf(leaf.validToDate)}.`)];
}

/** As a server would take it from the disk: the certificate, or why it cannot. */
export async function readFiles(files: Files): Promise<ShownCertificate | Finding> {
  try {
    const cert = await readFile(files.certFile, 'utf8');
    createSecureContext({ cert, key: await readFile(files.keyFile, 'utf8') });
    return certificateIn(cert);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const detail = `${files.certFile} and ${files.keyFile} are no certificate with its key: ${why}`;
    return fail(NAME, detail, 'No server starts with them, and one that runs keeps what it had.');
  }
}

/** Who signed it is only known here when it was itself. */
export function certificateIn(pem: string): ShownCertificate {
  const leaf = new X509Certificate(pem);
  return { leaf, distrust: isSelfSigned(leaf) ? SELF_SIGNED : undefined };
}

function checkTime(leaf: X509Certificate, nowMs: number): Finding | undefined {
  const endsAtMs = leaf.validToDate.getTime();
  if (leaf.validFromDate.getTime() > nowMs) {
    const detail = `The certificate is good only from ${dayOf(leaf.validFromDate)} on.`;
    return fail(NAME, detail, 'Look at the clock of this machine, or take another certificate.');
  }
  if (endsAtMs <= nowMs) {
    return fail(NAME, `The certificate ran out on ${dayOf(leaf.validToDate)}.`, RENEW);
  }
  if (endsAtMs - nowMs > SOON_MS) return undefined;
  const days = Math.floor((endsAtMs - nowMs) / DAY_MS);
  return warn(NAME, `The certificate runs out in ${days} days.`, RENEW);
}

function checkName(leaf: X509Certificate, host: string): Finding | undefined {
  const matches = isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host);
  if (matches !== undefined) return undefined;
  const names = leaf.subjectAltName?.replaceAll(/(DNS|IP Address):/g, '') ?? 'nobody';
  return warn(
    NAME,
    `The certificate is for ${names}, and not for ${host}, which programs are told to name.`,
    'Take one for that name, or tell the name it is for in BASE_URL or SUBMISSION_URL.',
  );
}

const SELF_SIGNED = 'DEPTH_ZERO_SELF_SIGNED_CERT';
/** Told by its time already. */
const RAN_OUT = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

function checkTrust(leaf: X509Certificate, distrust: string | undefined): Finding | undefined {
  if (distrust === undefined || RAN_OUT.has(distrust)) return undefined;
  if (distrust === SELF_SIGNED || isSelfSigned(leaf)) {
    const detail =
      'The certificate is self-signed: programs refuse it unless they are told not to.';
    return warn(
      NAME,
      detail,
      'Take one of an authority that programs know, such as Let’s Encrypt.',
    );
  }
  return warn(
    NAME,
    `This machine does not trust the certificate (${distrust}).`,
    'Put the certificates of its chain behind it in SUBMISSION_TLS_CERT; an authority of your own must be known to each program.',
  );
}

function isSelfSigned(leaf: X509Certificate): boolean {
  return leaf.checkIssued(leaf) && leaf.verify(leaf.publicKey);
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
