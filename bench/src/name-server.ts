import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/**
 * A name server for receiving domains that do not exist: every domain `…<n>.example` has one of a
 * fixed number of mail servers, all of which are on this machine. Everything else has no records.
 */
export interface NameServer extends AsyncDisposable {
  port: number;
}

const MAIL_SERVERS = 20;
const TTL_SECONDS = 3600;
const TYPE = { A: 1, MX: 15 };
const MAIL_SERVER = /^mx(\d+)\.servers\.example$/;
const DOMAIN = /^[^.]*?(\d+)\.example$/;

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
  if (!data) return Buffer.concat([header, question]);
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
  const server = MAIL_SERVER.exec(name);
  if (server) return type === TYPE.A ? Buffer.from([127, 0, 1, Number(server[1])]) : undefined;
  const domain = DOMAIN.exec(name);
  if (!domain || type !== TYPE.MX) return undefined;
  const host = `mx${(Number(domain[1]) % MAIL_SERVERS) + 1}.servers.example`;
  const labels = host.split('.').map((label) => String.fromCharCode(label.length) + label);
  return Buffer.concat([Buffer.from([0, 10]), Buffer.from(`${labels.join('')}\0`, 'latin1')]);
}
