import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryBudget } from '../../lib/memory/memory-budget.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { readBody } from './read-body.ts';

/**
 * Goal: a body arrives complete however it was chunked, or not at all. Method: raw requests to a
 * server.
 */

const BYTES_MAX = 100;
let bytesMax = BYTES_MAX;
let nextTurn = () => Promise.resolve();
let read: net.Socket | undefined;
let server: http.Server;
let outcomes: (string | Error)[] = [];
/** Whether the client had sent everything by then. */
let wasWhole = false;
let memory = new MemoryBudget(1024 * 1024);
let reservedBytes = 0;
let hasRelease = false;

beforeAll(async () => {
  server = http.createServer((request, response) => {
    const limits = { bytesMax, reserve: () => memory.reserve('client'), nextTurn };
    read = request.socket;
    readBody(request, limits, (error, body) => {
      wasWhole = request.complete;
      reservedBytes = memory.used;
      outcomes.push(error ?? Buffer.concat(body?.chunks ?? []).toString());
      hasRelease = body?.release !== undefined;
      body?.release?.();
      response.end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends each chunk in its own turn and returns the reader's result. */
async function outcomeOf(head: string, ...pieces: string[]): Promise<string | Error> {
  outcomes = [];
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
  for (const piece of pieces) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (piece === 'GONE') socket.destroy();
    else socket.write(piece);
  }
  await expect.poll(() => outcomes.length).toBe(1);
  socket.destroy();
  return outcomes[0] as string | Error;
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

test('reads one chunk, several chunks, and an empty body', async () => {
  expect(await outcomeOf('Content-Length: 5', 'hello')).toBe('hello');
  expect(await outcomeOf('Content-Length: 5', 'he', 'llo')).toBe('hello');
  expect(await outcomeOf('Transfer-Encoding: chunked', chunk('he'), chunk('llo'), chunk(''))).toBe(
    'hello',
  );
  expect(await outcomeOf('Content-Length: 0')).toBe('');
});

test('accepts the maximum size and no more, declared or chunked', async () => {
  const most = 'x'.repeat(BYTES_MAX);
  expect(await outcomeOf(`Content-Length: ${BYTES_MAX}`, most)).toBe(most);
  const tooLarge = expect.objectContaining({ code: 'body_too_large' });
  expect(await outcomeOf(`Content-Length: ${BYTES_MAX + 1}`, most, 'x')).toEqual(tooLarge);
  const chunks = [chunk(most), chunk('x'), chunk('')];
  const grown = await outcomeOf('Transfer-Encoding: chunked', ...chunks);
  expect(grown).toEqual(tooLarge);
  expect(grown).toBeInstanceOf(RefusedError);
});

test('reads a body of up to twice the maximum to its end before rejecting it', async () => {
  const tooLarge = expect.objectContaining({ code: 'body_too_large' });
  const [most, more] = ['x'.repeat(BYTES_MAX), 'x'.repeat(BYTES_MAX - 1)];
  expect(await outcomeOf(`Content-Length: ${2 * BYTES_MAX}`, most, more, 'x')).toEqual(tooLarge);
  expect(wasWhole).toBe(true);
  expect(await outcomeOf(`Content-Length: ${2 * BYTES_MAX + 1}`)).toEqual(tooLarge);
  expect(wasWhole).toBe(false);
  const flood = [chunk(most), chunk(most), chunk('x')];
  expect(await outcomeOf('Transfer-Encoding: chunked', ...flood)).toEqual(tooLarge);
  expect(wasWhole).toBe(false);
});

test('fails for a body that breaks off', async () => {
  expect(await outcomeOf('Content-Length: 5', 'he', 'GONE')).toBeInstanceOf(Error);
});

test('a body in one piece reserves nothing; others reserve what arrived, until they are released', async () => {
  await outcomeOf('Content-Length: 5', 'hello');
  expect(reservedBytes).toBe(0);
  // Releasing after the response costs a listener, so most bodies must not need it.
  expect(hasRelease).toBe(false);
  await outcomeOf('Content-Length: 5', 'he', 'llo');
  expect(reservedBytes).toBeGreaterThan(5);
  expect(hasRelease).toBe(true);
  await outcomeOf('Transfer-Encoding: chunked', chunk('hello'), chunk(''));
  expect(reservedBytes).toBeGreaterThan(5);
  await outcomeOf('Content-Length: 5', 'he', 'GONE');
  await outcomeOf(`Content-Length: ${BYTES_MAX + 1}`, 'x'.repeat(BYTES_MAX), 'x');
  expect(memory.used).toBe(0);
});

test('a body over the memory budget is read to its end and rejected as overloaded', async () => {
  memory = new MemoryBudget(1024);
  const overloaded = expect.objectContaining({ code: 'overloaded', retryAfterSeconds: 1 });
  expect(await outcomeOf('Content-Length: 10', 'ab', 'cd', 'ef', 'gh', 'ij')).toEqual(overloaded);
  expect(wasWhole).toBe(true);
  expect(memory.used).toBe(0);
  expect(await outcomeOf('Content-Length: 10', 'abcde', 'fghij')).toBe('abcdefghij');
});

test('the rest of a large body is read in turns', async () => {
  const MIB = 1024 * 1024;
  bytesMax = 8 * MIB;
  memory = new MemoryBudget(16 * MIB);
  const turn = Promise.withResolvers<void>();
  let turns = 0;
  nextTurn = () => {
    turns += 1;
    return turn.promise;
  };
  const outcome = outcomeOf(`Content-Length: ${8 * MIB}`, 'x'.repeat(8 * MIB));
  await expect.poll(() => turns).toBe(1);
  for (let n = 0; n < 100; n++) await nextIteration();
  // A chunk that is read and one behind it, however much the client has sent.
  expect(turns).toBe(1);
  expect(read?.bytesRead).toBeLessThan(256 * 1024 + 3 * 64 * 1024);
  turn.resolve();
  expect(await outcome).toHaveLength(8 * MIB);
  expect(turns).toBeGreaterThan(100);
});
