import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The first bytes of a connection that a proxy leads to us: the PROXY protocol, version 1 as a line
 * of text and version 2 as a block of bytes (haproxy.org/download/3.2/doc/proxy-protocol.txt). In
 * come the bytes that have arrived so far, out goes whose connection it is and where it begins, or
 * that more is needed. It keeps nothing and throws nothing.
 */
export type ProxyHeader =
  | { kind: 'incomplete' }
  | { kind: 'invalid'; detail: string }
  | { kind: 'header'; told: ToldByProxy; bytes: number };

export interface ToldByProxy {
  /** Undefined: the proxy speaks for itself, or cannot tell for whom. */
  client: string | undefined;
  /** Whether the client speaks TLS with the proxy, which has taken it off. */
  encrypted: boolean;
}

const TOLD_NOTHING: ToldByProxy = { client: undefined, encrypted: false };

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const WORD = Buffer.from('PROXY ', 'latin1');

export function readProxyHeader(data: Buffer): ProxyHeader {
  if (startsLike(data, SIGNATURE)) return readBlock(data);
  if (startsLike(data, WORD)) return readLine(data);
  return invalid('it does not begin with a PROXY header');
}

/** As far as there is something to compare. */
function startsLike(data: Buffer, mark: Buffer): boolean {
  const bytes = Math.min(data.length, mark.length);
  return data.subarray(0, bytes).equals(mark.subarray(0, bytes));
}

/** With its CRLF, as the protocol bounds it. */
const LINE_BYTES_MAX = 107;
const LINE = /^PROXY (TCP4|TCP6) ([0-9A-Fa-f:.]+) ([0-9A-Fa-f:.]+) (\d{1,5}) (\d{1,5})$/;
const UNKNOWN_LINE = /^PROXY UNKNOWN( [^\r\n]*)?$/;

function readLine(data: Buffer): ProxyHeader {
  const end = data.subarray(0, LINE_BYTES_MAX).indexOf('\r\n');
  if (end === -1) {
    return data.length < LINE_BYTES_MAX ? INCOMPLETE : invalid('its line does not end');
  }
  const line = data.toString('latin1', 0, end);
  const bytes = end + 2;
  if (UNKNOWN_LINE.test(line)) return { kind: 'header', told: TOLD_NOTHING, bytes };
  const [, family, source = '', target = '', ...ports] = LINE.exec(line) ?? [];
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6;
  const good =
    family !== undefined && isAddress(source) && isAddress(target) && ports.every(isPort);
  if (!good) return invalid('its line is wrong');
  return { kind: 'header', told: { client: plain(source), encrypted: false }, bytes };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d*)$/.test(text) && Number(text) <= 65_535;
}

const BLOCK_HEAD_BYTES = 16;
/** Room for what proxies add, a client's certificate among it. */
const BLOCK_BYTES_MAX = 8 * 1024;
const VERSION_LOCAL = 0x20;
const VERSION_PROXY = 0x21;
/** Where addresses begin, by family and transport: source and target with their ports. */
const FAMILIES: Record<number, { addressBytes: number; bytes: number } | undefined> = {
  17: { addressBytes: 4, bytes: 12 },
  33: { addressBytes: 16, bytes: 36 },
};
/** Families of clients that have no address: not told, and sockets of the proxy's own machine. */
const WITHOUT_ADDRESS = new Set([0x00, 0x31]);

function readBlock(data: Buffer): ProxyHeader {
  if (data.length < BLOCK_HEAD_BYTES) return INCOMPLETE;
  const [version = 0, kind = 0] = data.subarray(SIGNATURE.length);
  const rest = data.readUInt16BE(SIGNATURE.length + 2);
  const bytes = BLOCK_HEAD_BYTES + rest;
  if (version !== VERSION_LOCAL && version !== VERSION_PROXY) {
    return invalid('its version or command is not known');
  }
  if (bytes > BLOCK_BYTES_MAX) return invalid('it is too long');
  const family = FAMILIES[kind];
  const speaksForItself = version === VERSION_LOCAL || WITHOUT_ADDRESS.has(kind);
  if (!speaksForItself && (!family || rest < family.bytes)) {
    return invalid('its addresses are not those of a TCP connection');
  }
  if (data.length < bytes) return INCOMPLETE;
  if (speaksForItself || !family) return { kind: 'header', told: TOLD_NOTHING, bytes };
  const source = data.subarray(BLOCK_HEAD_BYTES, BLOCK_HEAD_BYTES + family.addressBytes);
  const encrypted = readEncryption(data.subarray(BLOCK_HEAD_BYTES + family.bytes, bytes));
  if (encrypted === undefined) return invalid('what is added to its addresses is cut off');
  const client = plain(ipaddr.fromByteArray([...source]).toString());
  return { kind: 'header', told: { client, encrypted }, bytes };
}

/** An addition (2.2): its type, its length in two bytes, and that many more. */
const ADDITION_HEAD_BYTES = 3;
const TYPE_SSL = 0x20;
/** What TLS is told in: a byte of flags and four about the client's certificate. */
const SSL_BYTES_MIN = 5;
const CLIENT_SSL = 0x01;

/** Whether the additions say that the client speaks TLS; undefined when they end too soon. */
function readEncryption(additions: Buffer): boolean | undefined {
  const told: boolean[] = [];
  for (let rest = additions; rest.length > 0; ) {
    if (rest.length < ADDITION_HEAD_BYTES) return undefined;
    const bytes = rest.readUInt16BE(1);
    const value = rest.subarray(ADDITION_HEAD_BYTES, ADDITION_HEAD_BYTES + bytes);
    if (value.length < bytes) return undefined;
    if (rest[0] === TYPE_SSL) {
      if (bytes < SSL_BYTES_MIN) return undefined;
      told.push(((value[0] as number) & CLIENT_SSL) !== 0);
    }
    rest = rest.subarray(ADDITION_HEAD_BYTES + bytes);
  }
  return told.length > 0 && told.every(Boolean);
}

/** An IPv4 address that is written as an IPv6 one is that IPv4 address, for every rule about it. */
function plain(ip: string): string {
  return ipaddr.process(ip).toString();
}

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' };

function invalid(detail: string): ProxyHeader {
  return { kind: 'invalid', detail };
}
