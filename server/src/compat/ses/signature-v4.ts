import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { createHexHmacSha256 } from '../../lib/hmac.ts';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Verifies AWS Signature Version 4
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
 * Stricter than AWS in one respect: the body is always part of what is signed.
 */

/** A request as it arrived, the URL with its query. */
export interface ArrivedRequest {
  method: string;
  url: string;
  header: HeaderReader;
}

/** By name in lower case. The values of a repeated header are separated by commas. */
type HeaderReader = (name: string) => string | undefined;

export interface Signature {
  accessKeyId: string;
  /** `20261115/eu-central-1/ses/aws4_request` */
  scope: string;
  /** `20261115T093000Z` */
  signedAt: string;
  /** Lower case, in the order in which they were signed, separated by semicolons. */
  signedHeaders: string;
  signature: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
/** Counting characters would double its cost; Node limits the length of headers. */
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([\w-]+)\/(\d{8}\/[a-z0-9-]+\/([a-z0-9-]+)\/aws4_request), ?SignedHeaders=([a-z0-9;_-]+), ?Signature=([0-9a-f]+)$/;
const SIGNATURE_CHARS = 64;
const SCOPE_CHARS_MAX = 160;
const LIST_CHARS_MAX = 2_048;
const HASH = /^[0-9a-f]{64}$/;
const SKEW_MS_MAX = 15 * 60_000;
const SERVICE = 'ses';

/**
 * Reads headers as they arrived: a flat list of names and values. `parsed` are those of Node, which
 * joins repeated ones in its own way, and from which a route may have removed some.
 */
export function headerReader(
  rawHeaders: readonly string[],
  parsed: Record<string, unknown> = {},
): HeaderReader {
  if (Object.keys(parsed).length * 2 !== rawHeaders.length) {
    const joined = joinRepeated(rawHeaders);
    return (name) => joined.get(name);
  }
  return (name) => {
    const value = parsed[name];
    return typeof value === 'string' ? value : undefined;
  };
}

function joinRepeated(rawHeaders: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = (rawHeaders[i + 1] as string).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before},${value}`);
  }
  return headers;
}

/** Reads the signature and refuses what can be refused without knowing the secret or the body. */
export function readSignature({ url, header }: ArrivedRequest, nowMs: number): Signature {
  if (url.includes('?') && /[?&]X-Amz-(Algorithm|Signature)=/i.test(url)) {
    throw refused('Presigned URLs are not supported. Send the signature in Authorization.');
  }
  const authorization = header('authorization');
  if (authorization === undefined) {
    const detail = `The request has no Authorization header with a signature (${ALGORITHM}).`;
    throw new RefusedError('missing_api_key', detail);
  }
  const match = AUTHORIZATION.exec(authorization);
  const [, accessKeyId = '', scope = '', service = '', signedHeaders = '', signature = ''] =
    match ?? [];
  if (signature.length !== SIGNATURE_CHARS || scope.length > SCOPE_CHARS_MAX) {
    const detail = `The Authorization header must be "${ALGORITHM} Credential=…, SignedHeaders=…, Signature=…".`;
    throw new RefusedError('missing_api_key', detail);
  }
  checkSignedHeaders(header, namesOf(signedHeaders));
  if (service !== SERVICE) {
    throw refused(`The request is signed for the service "${service}" instead of "${SERVICE}".`);
  }
  const signedAt = checkTime(header, scope, nowMs);
  return { accessKeyId, scope, signedAt, signedHeaders, signature };
}

/** Whether the request, with this body, was signed with the secret. */
export function verifySignature(
  request: ArrivedRequest,
  signature: Signature,
  body: readonly Buffer[],
  secret: string,
): void {
  const bodyHash = hashOf(body.length === 1 ? (body[0] as Buffer) : Buffer.concat(body));
  const claimed = request.header('x-amz-content-sha256') ?? bodyHash;
  if (claimed !== bodyHash && !HASH.test(claimed)) {
    throw refused(`x-amz-content-sha256 "${claimed}" is not supported: the body must be signed.`);
  }
  const expected = signatureOf(request, signature, bodyHash, secret);
  if (claimed === bodyHash && isSameSignature(expected, signature.signature)) return;
  throw refused(
    'The signature does not match. Check the secret access key, and that no proxy changes the path, the Host header or the body.',
  );
}

const COMPARED = [Buffer.alloc(SIGNATURE_CHARS), Buffer.alloc(SIGNATURE_CHARS)] as const;

/** In constant time. Both have the same length, so each replaces all of what was compared before. */
function isSameSignature(expected: string, given: string): boolean {
  if (expected.length !== SIGNATURE_CHARS || given.length !== SIGNATURE_CHARS) return false;
  COMPARED[0].write(expected, 'latin1');
  COMPARED[1].write(given, 'latin1');
  return timingSafeEqual(...COMPARED);
}

/** The signature that the secret gives, in hex. */
export function signatureOf(
  request: ArrivedRequest,
  { scope, signedAt, signedHeaders }: Omit<Signature, 'accessKeyId' | 'signature'>,
  bodyHash: string,
  secret: string,
): string {
  const canonical = canonicalRequest(request, signedHeaders, bodyHash);
  return signerFor(secret, scope)(`${ALGORITHM}\n${signedAt}\n${scope}\n${hashOf(canonical)}`);
}

type Signer = (toSign: string) => string;

/** By secret and scope. Deriving a signing key takes four HMACs, and it is the same for a day. */
const signers = new Map<string, Map<string, Signer>>();
const SECRETS_MAX = 1_000;
/** A caller without the secret can choose scopes, too. */
const SCOPES_MAX = 16;

function signerFor(secret: string, scope: string): Signer {
  const known = signers.get(secret);
  const signer = known?.get(scope);
  if (signer) return signer;
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const derived = createHexHmacSha256(key as Buffer);
  if (known && known.size < SCOPES_MAX) known.set(scope, derived);
  else {
    if (signers.size >= SECRETS_MAX) signers.clear();
    signers.set(secret, new Map([[scope, derived]]));
  }
  return derived;
}

/** A program signs the same headers in all its requests. */
const lists = new Map<string, readonly string[]>();
const LISTS_MAX = 1_000;

function namesOf(signedHeaders: string): readonly string[] {
  const known = lists.get(signedHeaders);
  if (known) return known;
  const names = signedHeaders.split(';');
  if (lists.size >= LISTS_MAX) lists.clear();
  if (signedHeaders.length <= LIST_CHARS_MAX) lists.set(signedHeaders, names);
  return names;
}

function canonicalRequest(
  { method, url, header }: ArrivedRequest,
  signedHeaders: string,
  bodyHash: string,
): string {
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? '' : url.slice(queryAt + 1);
  const lines = canonicalHeaders(header, namesOf(signedHeaders));
  return `${method}\n${canonicalPath(path)}\n${canonicalQuery(query)}\n${lines}\n${signedHeaders}\n${bodyHash}`;
}

/** Values are trimmed, and few have more than single spaces in them. */
function canonicalHeaders(header: HeaderReader, names: readonly string[]): string {
  let lines = '';
  for (const name of names) lines += `${name}:${header(name) ?? ''}\n`;
  if (!/[^\S\n]{2}|[^\S\n ]/.test(lines)) return lines;
  return names.map((name) => `${name}:${header(name)?.replace(/\s+/g, ' ') ?? ''}\n`).join('');
}

/** Nearly all requests are sends, which have the same path. */
let lastNormalPath = '';
const NORMAL_PATH = /^(?:\/[\w~-][\w.~-]*)+$/;

/** For all services except S3, the path is normalized and encoded once more. */
function canonicalPath(path: string): string {
  if (path === lastNormalPath) return path;
  if (NORMAL_PATH.test(path)) {
    lastNormalPath = path;
    return path;
  }
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(encode(segment));
  }
  const end = segments.length > 0 && path.endsWith('/') ? '/' : '';
  return `/${segments.join('/')}${end}`;
}

function canonicalQuery(query: string): string {
  if (query === '') return '';
  const pairs = query.split('&').filter((pair) => pair !== '');
  return pairs
    .map((pair) => {
      const at = pair.indexOf('=');
      const name = at < 0 ? pair : pair.slice(0, at);
      return [name, at < 0 ? '' : pair.slice(at + 1)].map((text) => encode(decode(text)));
    })
    .sort(([a = '', x = ''], [b = '', y = '']) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** By code points, as AWS sorts; both are ASCII here. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('The query of the URL is not encoded correctly.');
  }
}

const UNRESERVED = /^[\w.~-]*$/;

function encode(text: string): string {
  if (UNRESERVED.test(text)) return text;
  const escaped = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, escaped);
}

function checkSignedHeaders(header: HeaderReader, signedHeaders: readonly string[]): void {
  for (const name of ['host', 'x-amz-date']) {
    if (!signedHeaders.includes(name)) throw refused(`The header ${name} must be signed.`);
  }
  if (header('x-amz-security-token') !== undefined) {
    throw refused('Temporary credentials (x-amz-security-token) are not supported.');
  }
}

function checkTime(header: HeaderReader, scope: string, nowMs: number): string {
  const signedAt = header('x-amz-date') ?? '';
  const signedAtMs = /^\d{8}T\d{6}Z$/.test(signedAt) ? timeOf(signedAt) : Number.NaN;
  if (Number.isNaN(signedAtMs) || !scope.startsWith(`${signedAt.slice(0, 8)}/`)) {
    throw refused('x-amz-date must be like 20261115T093000Z, and its date that of the credential.');
  }
  if (Math.abs(nowMs - signedAtMs) <= SKEW_MS_MAX) return signedAt;
  const now = new Date(nowMs).toISOString();
  const detail = `The request was signed at ${signedAt}, but it is ${now} here: more than 15 minutes apart. Check the clock.`;
  throw refused(detail);
}

function timeOf(text: string): number {
  const [date, time] = [Number(text.slice(0, 8)), Number(text.slice(9, 15))];
  const month = Math.floor(date / 100) % 100;
  const atMs = Date.UTC(Math.floor(date / 10_000), month - 1, date % 100);
  const minutes = Math.floor(time / 10_000) * 60 + (Math.floor(time / 100) % 100);
  return atMs + (minutes * 60 + (time % 100)) * 1000;
}

function refused(detail: string): RefusedError {
  return new RefusedError('invalid_signature', detail);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function hashOf(data: string | Buffer): string {
  return hash('sha256', data, 'hex');
}
