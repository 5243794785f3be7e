import { hash, type KeyObject, sign } from 'node:crypto';
import { type HeaderField, relaxedBodyHash, relaxedHeaderFields } from './canonicalize.ts';

/**
 * Creates DKIM signatures (RFC 6376; RFC 8463 for Ed25519). Takes a complete message and the keys
 * of its domain; returns one DKIM-Signature field per key, to be prepended to the message. Signing
 * runs on the thread pool, because an RSA signature takes a millisecond or more.
 */

export interface DkimKey {
  algorithm: 'rsa' | 'ed25519';
  domain: string;
  selector: string;
  privateKey: KeyObject;
}

// Each name is listed once more than it occurs (RFC 6376 section 8.15), so that no field can be
// duplicated in transit without breaking the signature. Fields of the first list cannot be added
// either. Those of the second are listed only when present: mailing lists add List-Unsubscribe and
// List-Id to mail that has none, and relays add a Content-Transfer-Encoding.
const SIGNED_FIELDS = [
  ...namesOf(
    true,
    'From To Cc Subject Date Reply-To Message-ID In-Reply-To References MIME-Version Content-Type',
  ),
  ...namesOf(
    false,
    'Content-Transfer-Encoding List-Id List-Unsubscribe List-Unsubscribe-Post Feedback-ID BIMI-Selector',
  ),
];

function namesOf(signedWhenAbsent: boolean, names: string) {
  return names.split(' ').map((name) => ({ name, lower: name.toLowerCase(), signedWhenAbsent }));
}

const LINE_CHARS_MAX = 76;

export async function signDkim(
  raw: Buffer,
  keys: DkimKey[],
  opts: { dateMs: number },
): Promise<string> {
  if (keys.length === 0) return '';
  const headerEnd = endOfHeader(raw);
  const fields = relaxedHeaderFields(raw.toString('latin1', 0, headerEnd.fields));
  const { names, canonical } = buildSignedHeaders(fields);
  const bodyHash = relaxedBodyHash(raw, headerEnd.body);
  const seconds = Math.floor(opts.dateMs / 1000);

  const signatures = keys.map(async (key) => {
    const field = signatureFieldPrefix(key, seconds, names, bodyHash);
    const covered = Buffer.from(`${canonical}${relaxedSignatureField(field)}`, 'latin1');
    const signature = await signWithKey(covered, key);
    return `${field}${foldedBase64(signature)}\r\n`;
  });
  return (await Promise.all(signatures)).join('');
}

function endOfHeader(raw: Buffer): { fields: number; body: number } {
  if (raw[0] === 0x0d && raw[1] === 0x0a) return { fields: 0, body: 2 };
  const blankLine = raw.indexOf('\r\n\r\n', 0, 'latin1');
  if (blankLine === -1) return { fields: raw.length, body: raw.length };
  return { fields: blankLine, body: blankLine + 4 };
}

/** Fields with the same name are signed from last to first (RFC 6376 section 5.4.2). */
function buildSignedHeaders(fields: readonly HeaderField[]): { names: string; canonical: string } {
  let names = '';
  let canonical = '';
  let column = ' h='.length;
  const list = (name: string): void => {
    const fold = column + name.length + 1 > LINE_CHARS_MAX;
    names += `${names === '' ? '' : ':'}${fold ? '\r\n ' : ''}${name}`;
    column = (fold ? 1 : column) + name.length + 1;
  };
  for (const { name, lower, signedWhenAbsent } of SIGNED_FIELDS) {
    let isListed = signedWhenAbsent;
    for (let i = fields.length - 1; i >= 0; i--) {
      const field = fields[i]!;
      if (field.name !== lower) continue;
      isListed = true;
      list(name);
      canonical += `${field.canonical}\r\n`;
    }
    if (isListed) list(name);
  }
  return { names, canonical };
}

/** The folded field up to its empty b= tag. */
function signatureFieldPrefix(
  key: DkimKey,
  seconds: number,
  names: string,
  bodyHash: string,
): string {
  return (
    `DKIM-Signature: v=1; a=${key.algorithm}-sha256; c=relaxed/relaxed;\r\n` +
    ` d=${key.domain};\r\n s=${key.selector}; t=${seconds};\r\n` +
    ` h=${names};\r\n bh=${bodyHash};\r\n b=`
  );
}

// The field has only single spaces, also after each fold, so removing the line breaks canonicalizes
// it.
function relaxedSignatureField(field: string): string {
  return field.replaceAll('\r\n', '').replace('DKIM-Signature: ', 'dkim-signature:');
}

function signWithKey(covered: Buffer, key: DkimKey): Promise<Buffer> {
  // RFC 8463 section 3: Ed25519 signs the SHA-256 of the header, not the header itself.
  const rsa = key.algorithm === 'rsa';
  const data = rsa ? covered : hash('sha256', covered, 'buffer');
  return new Promise((resolve, reject) => {
    sign(rsa ? 'sha256' : null, data, key.privateKey, (error, signature) => {
      if (error) reject(error);
      else resolve(signature);
    });
  });
}

function foldedBase64(signature: Buffer): string {
  const text = signature.toString('base64');
  const first = LINE_CHARS_MAX - ' b='.length;
  let folded = text.slice(0, first);
  for (let i = first; i < text.length; i += LINE_CHARS_MAX - 1) {
    folded += `\r\n ${text.slice(i, i + LINE_CHARS_MAX - 1)}`;
  }
  return folded;
}
