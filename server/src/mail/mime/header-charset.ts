import { isUtf8 } from 'node:buffer';

/**
 * The mail with its headers in UTF-8. RFC 6532 allows nothing else for 8-bit headers, but old software
 * writes them in the character set of the text, which mail programs guess in the same way.
 */
export function withUtf8Headers(data: Buffer): Buffer {
  const end = endOfHeaders(data);
  const head = data.subarray(0, end);
  if (isUtf8(head)) return data;
  const decoded = new TextDecoder(charsetOf(head)).decode(head);
  return Buffer.concat([Buffer.from(decoded), data.subarray(end)]);
}

function endOfHeaders(data: Buffer): number {
  const crlf = data.indexOf('\r\n\r\n');
  const lf = data.subarray(0, crlf === -1 ? data.length : crlf).indexOf('\n\n');
  const end = lf === -1 ? crlf : lf;
  return end === -1 ? data.length : end;
}

/** Only character sets that extend ASCII: the structure of the headers must not change. */
function charsetOf(head: Buffer): string {
  const [, charset = ''] = CHARSET.exec(head.toString('latin1')) ?? [];
  return SINGLE_BYTE.test(charset) ? charset : 'windows-1252';
}

const CHARSET = /^content-type:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*?\bcharset="?([\w-]+)/im;
const SINGLE_BYTE = /^(?:windows-125[0-8]|iso-8859-(?:[1-8]|10|1[3-6])|koi8-[ru])$/i;
