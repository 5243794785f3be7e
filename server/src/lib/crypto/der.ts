/** Writes ASN.1 in DER (X.690): elements of a tag, a length and a value. */

const INTEGER = 0x02;
const SEQUENCE = 0x30;

export function derSequence(...parts: Buffer[]): Buffer {
  return derElement(SEQUENCE, Buffer.concat(parts));
}

/** A number that is not negative. */
export function derInteger(value: bigint): Buffer {
  const hex = value.toString(16);
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  // The first bit is the sign.
  const isPadded = (octets[0] as number) >= 0x80;
  return derElement(INTEGER, isPadded ? Buffer.concat([Buffer.alloc(1), octets]) : octets);
}

export function derElement(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const header =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), value]);
}
