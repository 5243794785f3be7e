import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Parses the PROXY protocol header that a load balancer sends first, version 1 (text) and version 2
 * (binary) of haproxy.org/download/3.2/doc/proxy-protocol.txt. Takes the bytes received so far;
 * returns the client and the header's length, or that more bytes are needed. Stateless, and never
 * throws.
 */
export type ProxyHeader =
  | { kind: 'incomplete' }
  | { kind: 'invalid'; detail: string }
  | { kind: 'header'; client: ProxiedClient; bytes: number };

export interface ProxiedClient {
  /** Undefined when the proxy connects on its own behalf (LOCAL) or does not know the client. */
  ip: string | undefined;
  /** Whether the client's connection to the proxy uses TLS, which the proxy terminates. */
  encrypted: boolean;
}

const UNKNOWN_CLIENT: ProxiedClient = { ip: undefined, encrypted: false };

const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const V1_PREFIX = Buffer.from('PROXY ', 'latin1');

export function parseProxyHeader(data: Buffer): ProxyHeader {
  if (matchesPrefix(data, V2_SIGNATURE)) return parseV2(data);
  if (matchesPrefix(data, V1_PREFIX)) return parseV1(data);
  return invalid('it does not start with a PROXY header');
}

/** Compares as many bytes as have arrived. */
function matchesPrefix(data: Buffer, prefix: Buffer): boolean {
  const bytes = Math.min(data.length, prefix.length);
  return data.subarray(0, bytes).equals(prefix.subarray(0, bytes));
}

/** Including CRLF, as the specification limits it. */
const V1_BYTES_MAX = 107;
const V1_LINE = /^PROXY (TCP4|TCP6) ([0-9A-Fa-f:.]+) ([0-9A-Fa-f:.]+) (\d{1,5}) (\d{1,5})$/;
const V1_UNKNOWN_LINE = /^PROXY UNKNOWN( [^\r\n]*)?$/;

function parseV1(data: Buffer): ProxyHeader {
  const end = data.subarray(0, V1_BYTES_MAX).indexOf('\r\n');
  if (end === -1) {
    return data.length < V1_BYTES_MAX ? INCOMPLETE : invalid('the v1 header has no line end');
  }
  const line = data.toString('latin1', 0, end);
  const bytes = end + 2;
  if (V1_UNKNOWN_LINE.test(line)) return { kind: 'header', client: UNKNOWN_CLIENT, bytes };
  const [, family, source = '', target = '', ...ports] = V1_LINE.exec(line) ?? [];
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6;
  const good =
    family !== undefined && isAddress(source) && isAddress(target) && ports.every(isPort);
  if (!good) return invalid('the v1 header is malformed');
  return { kind: 'header', client: { ip: unmapIpv4(source), encrypted: false }, bytes };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d*)$/.test(text) && Number(text) <= 65_535;
}

const V2_HEADER_BYTES = 16;
/** Enough for the TLVs that proxies add, such as a client certificate. */
const V2_BYTES_MAX = 8 * 1024;
const COMMAND_LOCAL = 0x20;
const COMMAND_PROXY = 0x21;
/** Length of one address, and of both addresses with their ports, by address family. */
const ADDRESS_FAMILIES: Record<number, { addressBytes: number; bytes: number } | undefined> = {
  17: { addressBytes: 4, bytes: 12 },
  33: { addressBytes: 16, bytes: 36 },
};
/** UNSPEC, and UNIX sockets on the proxy's own machine. */
const FAMILIES_WITHOUT_ADDRESS = new Set([0x00, 0x31]);

function parseV2(data: Buffer): ProxyHeader {
  if (data.length < V2_HEADER_BYTES) return INCOMPLETE;
  const [version = 0, kind = 0] = data.subarray(V2_SIGNATURE.length);
  const rest = data.readUInt16BE(V2_SIGNATURE.length + 2);
  const bytes = V2_HEADER_BYTES + rest;
  if (version !== COMMAND_LOCAL && version !== COMMAND_PROXY) {
    return invalid('unknown version or command');
  }
  if (bytes > V2_BYTES_MAX) return invalid('the header is too long');
  const family = ADDRESS_FAMILIES[kind];
  const hasNoClient = version === COMMAND_LOCAL || FAMILIES_WITHOUT_ADDRESS.has(kind);
  if (!hasNoClient && (!family || rest < family.bytes)) {
    return invalid('the addresses are not those of a TCP connection');
  }
  if (data.length < bytes) return INCOMPLETE;
  if (hasNoClient || !family) return { kind: 'header', client: UNKNOWN_CLIENT, bytes };
  const source = data.subarray(V2_HEADER_BYTES, V2_HEADER_BYTES + family.addressBytes);
  const encrypted = isTlsClient(data.subarray(V2_HEADER_BYTES + family.bytes, bytes));
  if (encrypted === undefined) return invalid('a TLV is truncated');
  const client = unmapIpv4(ipaddr.fromByteArray([...source]).toString());
  return { kind: 'header', client: { ip: client, encrypted }, bytes };
}

/** A TLV (section 2.2): one byte of type, two bytes of length, and the value. */
const TLV_HEADER_BYTES = 3;
const TLV_TYPE_SSL = 0x20;
/** PP2_TYPE_SSL: one byte of flags and four bytes of certificate verification result. */
const TLV_SSL_BYTES_MIN = 5;
const PP2_CLIENT_SSL = 0x01;

/** Whether the TLVs say that the client uses TLS; undefined when one is truncated. */
function isTlsClient(tlvs: Buffer): boolean | undefined {
  const flags: boolean[] = [];
  for (let rest = tlvs; rest.length > 0; ) {
    if (rest.length < TLV_HEADER_BYTES) return undefined;
    const bytes = rest.readUInt16BE(1);
    const value = rest.subarray(TLV_HEADER_BYTES, TLV_HEADER_BYTES + bytes);
    if (value.length < bytes) return undefined;
    if (rest[0] === TLV_TYPE_SSL) {
      if (bytes < TLV_SSL_BYTES_MIN) return undefined;
      flags.push(((value[0] as number) & PP2_CLIENT_SSL) !== 0);
    }
    rest = rest.subarray(TLV_HEADER_BYTES + bytes);
  }
  return flags.length > 0 && flags.every(Boolean);
}

/** IPv4-mapped IPv6 addresses are treated as IPv4 by every rule. */
function unmapIpv4(ip: string): string {
  return ipaddr.process(ip).toString();
}

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' };

function invalid(detail: string): ProxyHeader {
  return { kind: 'invalid', detail };
}
