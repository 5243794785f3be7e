import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';

/**
 * A self-signed X.509 certificate (RFC 5280) for an RSA key, in PEM. Verifiers of SNS messages only
 * take the public key from it, so it has no extensions, which makes it a version 1 certificate.
 */
export function selfSignedCertificate(privateKey: KeyObject, name: string): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const commonName = sequence(COMMON_NAME, tagged(UTF8_STRING, Buffer.from(name)));
  const issuer = sequence(tagged(SET, commonName));
  const details = sequence(
    tagged(INTEGER, serialOf(publicKey)),
    SHA256_WITH_RSA,
    issuer,
    sequence(tagged(UTC_TIME, ALWAYS), tagged(GENERALIZED_TIME, NEVER)),
    issuer,
    publicKey,
  );
  const signature = sign('sha256', details, privateKey);
  const noUnusedBits = Buffer.from([0]);
  const certificate = sequence(
    details,
    SHA256_WITH_RSA,
    tagged(BIT_STRING, Buffer.concat([noUnusedBits, signature])),
  );
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;

/** The rotation of keys ends their use, not the certificate: RFC 5280 section 4.1.2.5. */
const ALWAYS = Buffer.from('200101000000Z');
const NEVER = Buffer.from('99991231235959Z');
/** 2.5.4.3. */
const COMMON_NAME = Buffer.from('0603550403', 'hex');
/** 1.2.840.113549.1.1.11 with a NULL parameter. */
const SHA256_WITH_RSA = Buffer.from('300d06092a864886f70d01010b0500', 'hex');

function sequence(...parts: Buffer[]): Buffer {
  return tagged(SEQUENCE, Buffer.concat(parts));
}

/** An element in DER: tag, length, value. */
function tagged(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const header =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), value]);
}

/** 16 bytes of a hash of the key; the first bits keep the number positive and without padding. */
function serialOf(publicKey: Buffer): Buffer {
  const serial = createHash('sha256').update(publicKey).digest().subarray(0, 16);
  serial[0] = ((serial[0] as number) & 0x3f) | 0x40;
  return serial;
}
