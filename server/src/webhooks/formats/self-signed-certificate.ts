import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { derElement, derInteger, derSequence } from '../../lib/crypto/der.ts';

/**
 * A self-signed X.509 certificate (RFC 5280) for an RSA key, in PEM. Verifiers of SNS messages only
 * take the public key from it, so it has no extensions, which makes it a version 1 certificate.
 */
export function selfSignedCertificate(privateKey: KeyObject, name: string): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const commonName = derSequence(COMMON_NAME, derElement(UTF8_STRING, Buffer.from(name)));
  const issuer = derSequence(derElement(SET, commonName));
  const details = derSequence(
    derInteger(serialOf(publicKey)),
    SHA256_WITH_RSA,
    issuer,
    derSequence(derElement(UTC_TIME, ALWAYS), derElement(GENERALIZED_TIME, NEVER)),
    issuer,
    publicKey,
  );
  const signature = sign('sha256', details, privateKey);
  const noUnusedBits = Buffer.from([0]);
  const certificate = derSequence(
    details,
    SHA256_WITH_RSA,
    derElement(BIT_STRING, Buffer.concat([noUnusedBits, signature])),
  );
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const BIT_STRING = 0x03;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SET = 0x31;

/** The rotation of keys ends their use, not the certificate: RFC 5280 section 4.1.2.5. */
const ALWAYS = Buffer.from('200101000000Z');
const NEVER = Buffer.from('99991231235959Z');
/** 2.5.4.3. */
const COMMON_NAME = Buffer.from('0603550403', 'hex');
/** 1.2.840.113549.1.1.11 with a NULL parameter. */
const SHA256_WITH_RSA = Buffer.from('300d06092a864886f70d01010b0500', 'hex');

/** 16 bytes of a hash of the key; the first bits make it 16 bytes in DER as well. */
function serialOf(publicKey: Buffer): bigint {
  const serial = createHash('sha256').update(publicKey).digest().subarray(0, 16);
  serial[0] = ((serial[0] as number) & 0x3f) | 0x40;
  return BigInt(`0x${serial.toString('hex')}`);
}
