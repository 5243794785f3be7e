import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/**
 * A name server for receiving domains that do not exist: `shared<n>.example` has one of a fixed number
 * of mail servers, and `own<n>.example` one of its own, all of which are on this machine. Everything
 * else has no records, and that may be cached as long as the records.
 */
export interface NameServer extends AsyncDisposable {
  port: number;
}

const MAIL_SERVERS = 500;
const TTL_SECONDS = 3600;
const TYPE = { A: 1, SOA: 6, MX: 15 };
const DOMAIN = /^(shared|own)(\d+)\.example$/;
const SHARED_SERVER = /^mx(\d+)\.servers\.example$/;
const OWN_SERVER = /^mx\.own(\d+)\.example$/;

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => socket.send(respond(query), port, address));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: (socket.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

function respond(query: Buffer): Buffer {
  let end = 12;
  const labels: string[] = [];
  for (let length = query[end] as number; length > 0; length = query[end] as number) {
    labels.push(query.toString('latin1', end + 1, end + 1 + length));
    end += length + 1;
  }
  const data = recordData(query.readUInt16BE(end + 1), labels.join('.').toLowerCase());
  const question = query.subarray(12, end + 5);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  // A response, recursion desired and available.
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  if (!data) {
    header.writeUInt16BE(1, 8);
    return Buffer.concat([header, question, NO_RECORDS]);
  }
  header.writeUInt16BE(1, 6);
  // The name of the question, its type and class, TTL and length.
  const answer = Buffer.alloc(12);
  answer.writeUInt16BE(0xc00c, 0);
  query.copy(answer, 2, end + 1, end + 5);
  answer.writeUInt32BE(TTL_SECONDS, 6);
  answer.writeUInt16BE(data.length, 10);
  return Buffer.concat([header, question, answer, data]);
}

function recordData(type: number, name: string): Buffer | undefined {
  const address = addressOf(name);
  if (address) return type === TYPE.A ? Buffer.from(address) : undefined;
  const [, kind, number] = DOMAIN.exec(name) ?? [];
  if (!kind || type !== TYPE.MX) return undefined;
  const shared = `mx${Number(number) % MAIL_SERVERS}.servers.example`;
  const host = kind === 'own' ? `mx.${name}` : shared;
  const labels = host.split('.').map((label) => String.fromCharCode(label.length) + label);
  return Buffer.concat([Buffer.from([0, 10]), Buffer.from(`${labels.join('')}\0`, 'latin1')]);
}

function addressOf(name: string): number[] | undefined {
  const shared = SHARED_SERVER.exec(name);
  if (shared) return [127, 1, Number(shared[1]) >> 8, Number(shared[1]) & 0xff];
  const own = OWN_SERVER.exec(name);
  return own ? [127, 2 + (Number(own[1]) >> 16), Number(own[1]) >> 8, Number(own[1])] : undefined;
}

/** The SOA record of the root zone, with empty names: its last field allows negative answers to be cached. */
const NO_RECORDS = Buffer.alloc(11 + 22);
NO_RECORDS.writeUInt16BE(TYPE.SOA, 1);
NO_RECORDS.writeUInt16BE(1, 3);
NO_RECORDS.writeUInt32BE(TTL_SECONDS, 5);
NO_RECORDS.writeUInt16BE(22, 9);
NO_RECORDS.writeUInt32BE(TTL_SECONDS, 29);
