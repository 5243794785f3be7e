import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { TlsaRecord } from '../dns/dns-message.ts';

/**
 * DANE for SMTP (RFC 7672): checks the receiver's certificate chain against its TLSA records. The
 * caller guarantees that the records are DNSSEC-validated.
 */
export type DaneCheck =
  | { matched: 'dane_ee' | 'dane_ta' }
  /**
   * RFC 7672 section 2.2: records exist, but none is usable, so TLS is required but
   * unauthenticated.
   */
  | { matched: 'no_usable_record' }
  | { matched: false; detail: string };

const DANE_TA = 2;
const DANE_EE = 3;

export function checkDane(
  leaf: X509Certificate,
  records: readonly TlsaRecord[],
  names: readonly string[],
  nowMs: number,
): DaneCheck {
  const usable = records.filter(isUsable);
  if (usable.length === 0) return { matched: 'no_usable_record' };
  // RFC 7672 section 3.1.1: DANE-EE ignores the certificate's names and dates.
  if (usable.some((record) => record.usage === DANE_EE && matches(record, leaf))) {
    return { matched: 'dane_ee' };
  }
  const chain = chainOf(leaf);
  const anchored = usable.some(
    (record) => record.usage === DANE_TA && isAnchoredBy(record, chain, nowMs),
  );
  if (!anchored) return { matched: false, detail: 'The certificate matches no TLSA record.' };
  if (!names.some((name) => leaf.checkHost(name) !== undefined)) {
    return { matched: false, detail: `The certificate is not for ${names.join(' or ')}.` };
  }
  return { matched: 'dane_ta' };
}

/** RFC 7672 section 3.1.3: PKIX usages 0 and 1 are not usable for SMTP. */
function isUsable({ usage, selector, matchingType, data }: TlsaRecord): boolean {
  if (usage !== DANE_TA && usage !== DANE_EE) return false;
  if (selector !== 0 && selector !== 1) return false;
  if (matchingType === 1) return data.length === 32;
  if (matchingType === 2) return data.length === 64;
  return matchingType === 0 && data.length > 0;
}

function matches(record: TlsaRecord, certificate: X509Certificate): boolean {
  const selected = record.selector === 0 ? certificate.raw : publicKeyInfo(certificate.raw);
  if (record.matchingType === 0) return record.data.equals(selected);
  const algorithm = record.matchingType === 1 ? 'sha256' : 'sha512';
  return record.data.equals(createHash(algorithm).update(selected).digest());
}

/** The leaf and its issuers, as sent by the receiver. Bounded, because a chain may be circular. */
function chainOf(leaf: X509Certificate): X509Certificate[] {
  const chain = [leaf];
  for (
    let next = leaf.issuerCertificate;
    next && chain.length < 10;
    next = next.issuerCertificate
  ) {
    if (chain.at(-1)?.raw.equals(next.raw)) break;
    chain.push(next);
  }
  return chain;
}

/**
 * Whether the leaf chains up, with valid signatures, to an authority that the record identifies.
 */
function isAnchoredBy(record: TlsaRecord, chain: X509Certificate[], nowMs: number): boolean {
  for (const [depth, certificate] of chain.entries()) {
    if (!isCurrent(certificate, nowMs)) return false;
    if (depth > 0) {
      const child = chain[depth - 1] as X509Certificate;
      if (!certificate.ca || !child.checkIssued(certificate)) return false;
      if (!child.verify(certificate.publicKey)) return false;
      if (matches(record, certificate)) return true;
    }
  }
  const key = anchorKeyInDns(record);
  return key !== undefined && (chain.at(-1) as X509Certificate).verify(key);
}

function isCurrent(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
}

/** With matching type 0 the record contains the trust anchor, and the receiver may omit it. */
function anchorKeyInDns(record: TlsaRecord): KeyObject | undefined {
  if (record.matchingType !== 0) return undefined;
  try {
    if (record.selector === 0) return new X509Certificate(record.data).publicKey;
    return createPublicKey({ key: record.data, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/**
 * The SubjectPublicKeyInfo bytes as they are in the certificate. Exporting the parsed key may
 * encode it differently, and its digest would not match.
 */
function publicKeyInfo(certificate: Buffer): Buffer {
  const tbs = contentAt(certificate, contentAt(certificate, 0).start);
  let at = tbs.start;
  // The version is optional and tagged [0]; then serial, signature, issuer, validity, subject.
  const fieldsBefore = certificate[at] === 0xa0 ? 6 : 5;
  for (let field = 0; field < fieldsBefore; field++) at = contentAt(certificate, at).end;
  return certificate.subarray(at, contentAt(certificate, at).end);
}

/** Where the content of the DER element at `at` starts and ends. */
function contentAt(der: Buffer, at: number): { start: number; end: number } {
  const first = der.readUInt8(at + 1);
  if (first < 0x80) return { start: at + 2, end: at + 2 + first };
  const lengthBytes = first & 0x7f;
  const start = at + 2 + lengthBytes;
  return { start, end: start + der.readUIntBE(at + 2, lengthBytes) };
}
