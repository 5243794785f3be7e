import { headerText } from '../mime/mail-parser.ts';

/** Finds the DKIM signatures of a mail without verifying anything. */

/** Where the public key of a signature is. */
export interface DkimKeyName {
  domain: string;
  selector: string;
}

/**
 * Each signature costs a pass over the whole body. RFC 6376 section 6.1 allows to limit their number;
 * forwarded mail has two or three.
 */
const SIGNATURES_MAX = 5;

/** A longer line takes verification quadratic time, and no mail server sends one (RFC 5322 section 2.1.1). */
const LINE_BYTES_MAX = 1024 * 1024;

export function readDkimKeyNames(data: Buffer): DkimKeyName[] {
  return signatureFields(data).slice(0, SIGNATURES_MAX).flatMap(readKeyName);
}

export function hasVerifiableLines(data: Buffer): boolean {
  let start = 0;
  while (data.length - start > LINE_BYTES_MAX) {
    const end = data.lastIndexOf(LF, start + LINE_BYTES_MAX);
    if (end < start) return false;
    start = end + 1;
  }
  return true;
}

/** Without the signatures that are too many. Removing a field does not affect the other signatures. */
export function withFewSignatures(data: Buffer): Buffer {
  const extra = signatureFields(data).slice(SIGNATURES_MAX);
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end } of extra) {
    pieces.push(data.subarray(at, start));
    at = end;
  }
  return at === 0 ? data : Buffer.concat([...pieces, data.subarray(at)]);
}

interface Field {
  start: number;
  end: number;
  value: string;
}

function signatureFields(data: Buffer): Field[] {
  return [...headerText(data).matchAll(SIGNATURE)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    value: match[1] as string,
  }));
}

/** One header field with its continuation lines. */
const SIGNATURE = /^dkim-signature[ \t]*:([^\n]*\n(?:[ \t][^\n]*\n)*)/gim;

function readKeyName({ value }: Field): DkimKeyName[] {
  const tags = new Map(
    value.split(';').map((tag) => {
      const [name = '', ...rest] = tag.split('=');
      return [name.trim().toLowerCase(), rest.join('=').replace(/\s/g, '')] as const;
    }),
  );
  const [domain, selector] = [tags.get('d'), tags.get('s')];
  return domain && selector ? [{ domain, selector }] : [];
}

const LF = 0x0a;
