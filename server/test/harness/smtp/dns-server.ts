import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import * as dnsPacket from 'dns-packet';

/**
 * A scripted DNS server on loopback, UDP and TCP on one port. It answers NXDOMAIN for unknown names,
 * and, as scripted, SERVFAIL, nothing, a truncated answer, or the AD bit. The script may change at any
 * time, and all queries are recorded. Answers are encoded by dns-packet, independently of our own codec.
 */

/** A response code instead of records, or no answer at all. */
export type DnsFailure = 'SERVFAIL' | 'REFUSED' | 'FORMERR' | 'NXDOMAIN' | 'silence';

export interface ScriptedTlsa {
  usage: number;
  selector: number;
  matchingType: number;
  data: Buffer;
}

interface ScriptedRecords {
  A: readonly string[];
  AAAA: readonly string[];
  CNAME: string;
  /** `10 mx1.example.test`; a null MX is `0 .` */
  MX: readonly string[];
  NS: readonly string[];
  PTR: readonly string[];
  /** One entry per record; an array lists the character strings of one record. */
  TXT: readonly (string | readonly string[])[];
  TLSA: readonly ScriptedTlsa[];
}

export type ScriptedType = keyof ScriptedRecords;

export type ScriptedName = { [T in ScriptedType]?: ScriptedRecords[T] | DnsFailure } & {
  /** Sets the AD bit in every answer for this name. */
  authenticated?: boolean;
  /** Truncates answers over UDP, so that the client retries over TCP. */
  truncated?: boolean;
  /** Zero by default, so that resolvers cache nothing and see script changes at once. */
  ttlSeconds?: number;
};

export type Script = Record<string, ScriptedName | DnsFailure>;

export interface ReceivedQuery {
  name: string;
  type: string;
  transport: 'udp' | 'tcp';
}

export interface ScriptedDnsServer extends AsyncDisposable {
  /** In the format of `DNS_SERVERS`. */
  readonly address: string;
  readonly port: number;
  /** In order of arrival, names in lower case. */
  readonly queries: ReceivedQuery[];
  set<T extends ScriptedType>(
    name: string,
    type: T,
    records: ScriptedRecords[T] | DnsFailure,
  ): void;
  setName(name: string, script: ScriptedName | DnsFailure): void;
  remove(name: string): void;
}

export interface DnsServerOptions {
  /** Replaces the UDP reply, to simulate spoofed and malformed packets. */
  forgeUdp?: (reply: Buffer, query: Buffer) => Buffer[];
}

export async function startDnsServer(
  script: Script = {},
  options: DnsServerOptions = {},
): Promise<ScriptedDnsServer> {
  const names = new Map(Object.entries(script).map(([name, of]) => [name.toLowerCase(), of]));
  const questions: ReceivedQuery[] = [];
  const tcpSockets = new Set<Socket>();
  const { udp, tcp, port } = await listenOnBoth();

  udp.on('message', (query, from) => {
    const reply = answer(query, 'udp');
    if (!reply) return;
    const leaving = options.forgeUdp ? options.forgeUdp(reply, query) : [reply];
    for (const bytes of leaving) udp.send(bytes, from.port, from.address);
  });

  tcp.on('connection', (socket) => {
    tcpSockets.add(socket);
    socket.on('close', () => tcpSockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const reply = answer(received.subarray(2, end), 'tcp');
        received = received.subarray(end);
        if (reply) socket.write(Buffer.concat([lengthOf(reply), reply]));
      }
    });
  });

  return {
    address: `127.0.0.1:${port}`,
    port,
    queries: questions,
    set(name, type, records) {
      const old = names.get(name.toLowerCase());
      names.set(name.toLowerCase(), { ...(typeof old === 'object' ? old : {}), [type]: records });
    },
    setName: (name, of) => void names.set(name.toLowerCase(), of),
    remove: (name) => void names.delete(name.toLowerCase()),
    async [Symbol.asyncDispose]() {
      for (const socket of tcpSockets) socket.destroy();
      udp.close();
      tcp.close();
      await Promise.all([once(udp, 'close'), once(tcp, 'close')]);
    },
  };

  function answer(bytes: Buffer, transport: 'udp' | 'tcp'): Buffer | undefined {
    const query = dnsPacket.decode(bytes);
    const question = query.questions?.[0];
    if (!question) return undefined;
    const name = question.name.toLowerCase();
    questions.push({ name, type: question.type, transport });
    const reply = findReply(names, name, question.type);
    if (reply === 'silence') return undefined;
    const packet: dnsPacket.Packet = {
      type: 'response',
      ...(query.id === undefined ? {} : { id: query.id }),
      flags:
        dnsPacket.RECURSION_DESIRED |
        dnsPacket.RECURSION_AVAILABLE |
        reply.rcode |
        (reply.authenticated ? dnsPacket.AUTHENTIC_DATA : 0),
      questions: [question],
      answers: reply.answers,
      authorities: isAbsence(reply) ? [startOfAuthority(name, reply.ttlSeconds)] : [],
    };
    const whole = dnsPacket.encode(packet);
    const payloadSize =
      query.additionals?.find((record) => record.type === 'OPT')?.udpPayloadSize ?? 512;
    if (transport === 'tcp' || (!reply.truncated && whole.length <= payloadSize)) return whole;
    return dnsPacket.encode({
      ...packet,
      flags: (packet.flags ?? 0) | dnsPacket.TRUNCATED_RESPONSE,
      answers: [],
      authorities: [],
    });
  }
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length, 0);
  return length;
}

/** UDP and TCP must share a port; a port that is free for UDP may be in use for TCP. */
async function listenOnBoth(): Promise<{ udp: DatagramSocket; tcp: Server; port: number }> {
  for (let attempts = 0; attempts < 50; attempts++) {
    const udp = createSocket('udp4');
    udp.bind(0, '127.0.0.1');
    await once(udp, 'listening');
    const { port } = udp.address();
    const tcp = createServer();
    const listening = await new Promise<boolean>((resolve) => {
      tcp.once('error', () => resolve(false));
      tcp.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (listening) return { udp, tcp, port };
    udp.close();
  }
  throw new Error('No port is free for both UDP and TCP.');
}

interface Reply {
  rcode: number;
  authenticated: boolean;
  truncated: boolean;
  ttlSeconds: number;
  answers: dnsPacket.PacketRecord[];
}

const RCODES = { SERVFAIL: 2, REFUSED: 5, FORMERR: 1, NXDOMAIN: 3 };
const ALIASES_MAX = 8;

/** Follows aliases like a recursive server; the answer is authenticated only if all names are. */
function findReply(
  names: ReadonlyMap<string, ScriptedName | DnsFailure>,
  queried: string,
  type: string,
): Reply | 'silence' {
  const reply: Reply = {
    rcode: 0,
    authenticated: true,
    truncated: false,
    ttlSeconds: 0,
    answers: [],
  };
  let name = queried;
  for (let hops = 0; hops < ALIASES_MAX; hops++) {
    const scripted = names.get(name) ?? (isParentOfAny(names, name) ? {} : 'NXDOMAIN');
    if (isFailure(scripted)) return withFailure(reply, scripted);
    const records = scripted[type as ScriptedType];
    if (isFailure(records)) return withFailure(reply, records);

    const ttl = scripted.ttlSeconds ?? 0;
    reply.ttlSeconds = ttl;
    reply.authenticated &&= scripted.authenticated === true;
    reply.truncated ||= scripted.truncated === true;
    if (scripted.CNAME === undefined || type === 'CNAME') {
      for (const data of dataOf(type, records)) reply.answers.push({ name, type, ttl, data });
      return reply;
    }
    reply.answers.push({ name, type: 'CNAME', ttl, data: scripted.CNAME });
    name = scripted.CNAME.toLowerCase();
  }
  return withFailure(reply, 'SERVFAIL');
}

/** A name above a scripted one exists, but has no records. */
function isParentOfAny(names: ReadonlyMap<string, unknown>, name: string): boolean {
  return [...names.keys()].some((known) => known.endsWith(`.${name}`));
}

function isFailure(value: unknown): value is DnsFailure {
  return typeof value === 'string' && (value === 'silence' || value in RCODES);
}

function withFailure(reply: Reply, trouble: DnsFailure): Reply | 'silence' {
  if (trouble === 'silence') return 'silence';
  const answers = trouble === 'NXDOMAIN' ? reply.answers : [];
  return { ...reply, answers, rcode: RCODES[trouble], authenticated: false };
}

function isAbsence({ answers }: Reply): boolean {
  return answers.every((record) => record.type === 'CNAME');
}

/** The zone's SOA defines how long a negative answer is cached (RFC 2308). */
function startOfAuthority(queried: string, ttlSeconds: number): dnsPacket.PacketRecord {
  const data = { mname: 'ns.test', rname: 'hostmaster.test', minimum: ttlSeconds };
  return { name: queried, type: 'SOA', ttl: ttlSeconds, data };
}

function dataOf(type: string, records: ScriptedName[ScriptedType]): unknown[] {
  if (records === undefined) return [];
  if (typeof records === 'string') return [records];
  switch (type) {
    case 'MX':
      return (records as ScriptedRecords['MX']).map((text) => {
        const [preference, exchange] = text.split(/\s+/);
        return { preference: Number(preference), exchange };
      });
    case 'TXT':
      return (records as ScriptedRecords['TXT']).map((text) =>
        typeof text === 'string' ? chunksOf(text) : text.map((chunk) => Buffer.from(chunk)),
      );
    case 'TLSA':
      return (records as ScriptedRecords['TLSA']).map(({ data, ...fields }) => ({
        ...fields,
        certificate: data,
      }));
    default:
      return [...records];
  }
}

/** A character string holds at most 255 octets. */
function chunksOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    chunks.push(bytes.subarray(at, at + 255));
  }
  return chunks;
}
