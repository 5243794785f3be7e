import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { createHexHmacSha256 } from '../../lib/crypto/hmac.ts';
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
  authorization: Authorization;
  /** `20261115T093000Z` */
  signedAt: string;
  signature: string;
}

/** An Authorization header without the signature: what the requests of a program share for a day. */
interface Authorization {
  /** As it arrived. */
  text: string;
  accessKeyId: string;
  /** `20261115/eu-central-1/ses/aws4_request` */
  scope: string;
  headers: SignedHeaders;
  /** Deriving a signing key takes four HMACs. */
  signer: { secret: string; sign: Signer } | undefined;
}

/** Of a canonical request, as few pieces as possible: joining them costs as much as their hash. */
interface SignedHeaders {
  /** Lower case, in the order in which they were signed. */
  names: readonly string[];
  /** What precedes the value of each. */
  labels: readonly string[];
  /** What follows the last value. */
  end: string;
}

type Signer = (toSign: string) => string;

const ALGORITHM = 'AWS4-HMAC-SHA256';
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([\w-]+)\/(\d{8}\/[a-z0-9-]+\/([a-z0-9-]+)\/aws4_request), ?SignedHeaders=([a-z0-9;_-]+), ?Signature=$/;
const SIGNATURE_CHARS = 64;
const SCOPE_CHARS_MAX = 160;
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
  if (countOf(parsed) * 2 !== rawHeaders.length) {
    const joined = joinRepeated(rawHeaders);
    return (name) => joined.get(name);
  }
  return (name) => {
    const value = parsed[name];
    return typeof value === 'string' ? value : undefined;
  };
}

function countOf(headers: Record<string, unknown>): number {
  let count = 0;
  for (const _ in headers) count += 1;
  return count;
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

/**
 * By their text. Only what a correct signature came with is added, so clients without a secret cannot
 * push out the others.
 */
const authorizations = new Map<string, Authorization>();
const AUTHORIZATIONS_MAX = 1_000;
const CACHED_CHARS_MAX = 2_048;

/** Reads the signature and refuses what can be refused without knowing the secret or the body. */
export function readSignature({ url, header }: ArrivedRequest, nowMs: number): Signature {
  const given = header('authorization');
  if (given === undefined) throw withoutAuthorization(url);
  const signature = given.slice(-SIGNATURE_CHARS);
  const text = given.slice(0, -SIGNATURE_CHARS);
  const authorization = authorizations.get(text) ?? parseAuthorization(text, signature);
  if (header('x-amz-security-token') !== undefined) {
    throw refused('Temporary credentials (x-amz-security-token) are not supported.');
  }
  const signedAt = checkTime(header, authorization.scope, nowMs);
  return { authorization, signedAt, signature };
}

function parseAuthorization(text: string, signature: string): Authorization {
  const match = AUTHORIZATION.exec(text);
  const [, accessKeyId = '', scope = '', service = '', signedHeaders = ''] = match ?? [];
  if (!match || scope.length > SCOPE_CHARS_MAX || !HASH.test(signature)) {
    throw malformedAuthorization();
  }
  const names = signedHeaders.split(';');
  for (const name of ['host', 'x-amz-date']) {
    if (!names.includes(name)) throw refused(`The header ${name} must be signed.`);
  }
  if (service !== SERVICE) {
    throw refused(`The request is signed for the service "${service}" instead of "${SERVICE}".`);
  }
  return { text, accessKeyId, scope, headers: toSignedHeaders(signedHeaders), signer: undefined };
}

function toSignedHeaders(list: string): SignedHeaders {
  const names = list.split(';');
  const labels = names.map((name, index) => `${index === 0 ? '' : '\n'}${name}:`);
  return { names, labels, end: `\n\n${list}\n` };
}

function withoutAuthorization(url: string): RefusedError {
  if (/[?&]X-Amz-(Algorithm|Signature)=/i.test(url)) {
    return refused('Presigned URLs are not supported. Send the signature in Authorization.');
  }
  const detail = `The request has no Authorization header with a signature (${ALGORITHM}).`;
  return new RefusedError('missing_api_key', detail);
}

function malformedAuthorization(): RefusedError {
  const detail = `The Authorization header must be "${ALGORITHM} Credential=…, SignedHeaders=…, Signature=…".`;
  return new RefusedError('missing_api_key', detail);
}

/** Whether the request, with this body, was signed with the secret. */
export function verifySignature(
  request: ArrivedRequest,
  { authorization, signedAt, signature }: Signature,
  body: readonly Buffer[],
  secret: string,
): void {
  const bodyHash = hashOf(body.length === 1 ? (body[0] as Buffer) : Buffer.concat(body));
  const claimed = request.header('x-amz-content-sha256') ?? bodyHash;
  if (claimed !== bodyHash && !HASH.test(claimed)) {
    throw refused(`x-amz-content-sha256 "${claimed}" is not supported: the body must be signed.`);
  }
  if (authorization.signer?.secret !== secret) {
    authorization.signer = { secret, sign: createSigner(secret, authorization.scope) };
  }
  const { scope, headers, signer } = authorization;
  const expected = signer.sign(
    toSign(signedAt, scope, canonicalRequest(request, headers, bodyHash)),
  );
  if (claimed !== bodyHash || !isSameSignature(expected, signature)) {
    if (!HASH.test(signature)) throw malformedAuthorization();
    throw refused(
      'The signature does not match. Check the secret access key, and that no proxy changes the path, the Host header or the body.',
    );
  }
  remember(authorization);
}

function remember(authorization: Authorization): void {
  const { text } = authorization;
  if (text.length > CACHED_CHARS_MAX || authorizations.has(text)) return;
  if (authorizations.size >= AUTHORIZATIONS_MAX) authorizations.clear();
  authorizations.set(text, authorization);
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
  given: { scope: string; signedAt: string; signedHeaders: string },
  bodyHash: string,
  secret: string,
): string {
  const { scope, signedAt, signedHeaders } = given;
  const canonical = canonicalRequest(request, toSignedHeaders(signedHeaders), bodyHash);
  return createSigner(secret, scope)(toSign(signedAt, scope, canonical));
}

function createSigner(secret: string, scope: string): Signer {
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return createHexHmacSha256(key as Buffer);
}

function toSign(signedAt: string, scope: string, canonical: string): string {
  return `${ALGORITHM}\n${signedAt}\n${scope}\n${hashOf(canonical)}`;
}

function canonicalRequest(
  { method, url, header }: ArrivedRequest,
  headers: SignedHeaders,
  bodyHash: string,
): string {
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? '' : url.slice(queryAt + 1);
  const lines = canonicalHeaders(header, headers);
  return `${method}\n${canonicalPath(path)}\n${canonicalQuery(query)}\n${lines}${headers.end}${bodyHash}`;
}

/**
 * All whitespace that the value of a header can contain, except for single spaces. Written with \S,
 * the same search takes five times as long.
 */
const UNUSUAL_SPACE = /[\t\v\f\r\xa0]| {2}/;

/** Values are trimmed, and few have more than single spaces in them. */
function canonicalHeaders(header: HeaderReader, { names, labels }: SignedHeaders): string {
  let lines = '';
  for (let i = 0; i < names.length; i++) lines += `${labels[i]}${header(names[i] as string) ?? ''}`;
  if (!UNUSUAL_SPACE.test(lines)) return lines;
  return names
    .map((name, index) => `${labels[index]}${header(name)?.replace(/\s+/g, ' ') ?? ''}`)
    .join('');
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

/** Requests of the same second have the same time. */
let lastTime = { text: '', atMs: Number.NaN };

function checkTime(header: HeaderReader, scope: string, nowMs: number): string {
  const signedAt = header('x-amz-date') ?? '';
  if (signedAt !== lastTime.text) lastTime = { text: signedAt, atMs: timeOf(signedAt) };
  const { atMs } = lastTime;
  if (Number.isNaN(atMs) || !scope.startsWith(signedAt.slice(0, DATE_CHARS))) {
    throw refused('x-amz-date must be like 20261115T093000Z, and its date that of the credential.');
  }
  if (Math.abs(nowMs - atMs) <= SKEW_MS_MAX) return signedAt;
  const now = new Date(nowMs).toISOString();
  const detail = `The request was signed at ${signedAt}, but it is ${now} here: more than 15 minutes apart. Check the clock.`;
  throw refused(detail);
}

const DATE_CHARS = 8;

function timeOf(text: string): number {
  if (!/^\d{8}T\d{6}Z$/.test(text)) return Number.NaN;
  const [date, time] = [Number(text.slice(0, DATE_CHARS)), Number(text.slice(9, 15))];
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
