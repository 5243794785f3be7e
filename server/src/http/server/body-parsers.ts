import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { MemoryBudget } from '../../lib/memory/memory-budget.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { runInLoopBatch } from '../../lib/scheduling/loop-batch.ts';
import { eventLoopTurns } from '../../lib/scheduling/turns.ts';
import type { Operation } from '../operation.ts';
import { FORM_TYPES, parseFormBody } from './form-body.ts';
import { type JsonBody, parseJsonBody } from './json-body.ts';
import { type ReceivedBody, readBody } from './read-body.ts';

/** Reads and parses request bodies, within the memory that they share and in turns when they are large. */

export interface BodyLimits {
  bodyBytesMax: number;
  /** Shared by all bodies in memory. */
  bodyMemory: MemoryBudget;
}

/** How the body of an operation is read. */
export type BodyFormat = 'json' | 'short-json' | 'form' | 'stream' | 'ignored';

export function bodyFormatOf({
  rawBody,
  body,
  scope,
  acceptsForms,
}: Operation['spec']): BodyFormat {
  if (rawBody) return 'stream';
  if (!body) return 'ignored';
  if (scope === 'public') return 'short-json';
  return acceptsForms ? 'form' : 'json';
}

export function addBodyParsers(
  scope: FastifyInstance,
  limits: BodyLimits,
  format: BodyFormat,
): void {
  const { bodyMemory, bodyBytesMax } = limits;
  if (format === 'short-json') {
    addJsonBodyParser(scope, limits, Math.min(PUBLIC_BODY_BYTES_MAX, bodyBytesMax));
  } else if (format === 'form') {
    addBodyParser(scope, FORM_TYPES, bodyMemory, bodyBytesMax, parseFormBody);
  } else if (format === 'stream' || format === 'ignored') {
    // Node discards an ignored body after the response.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (request, payload, done) => {
      if (format === 'ignored') done(null);
      else done(contentCodingError(request), payload);
    });
  }
}

/** Limits the body of public operations, which need only a few fields. */
const PUBLIC_BODY_BYTES_MAX = 64 * 1024;
/** Limits the body of anonymous requests for operations that otherwise take whole messages. */
const ANONYMOUS_BODY_BYTES_MAX = 256 * 1024;

/** Larger bodies are parsed in turns, because that takes milliseconds. */
const PARSED_AT_ONCE_BYTES_MAX = 256 * 1024;

export function addJsonBodyParser(
  server: FastifyInstance,
  { bodyMemory }: BodyLimits,
  bytesMax: number,
): void {
  server.removeAllContentTypeParsers();
  addBodyParser(server, ['application/json'], bodyMemory, bytesMax, parseJsonBody);
}

const MULTIPART = 'multipart/form-data';

/**
 * Clients choose a new boundary for each request. Fastify would parse each of these types twice, and
 * its cache of types would hold nothing else.
 */
export function detachFormParameters(request: FastifyRequest): void {
  const type = request.headers['content-type'];
  if (!type?.startsWith(`${MULTIPART};`)) return;
  request.formType = type;
  request.headers['content-type'] = MULTIPART;
}

type ParseBody = (body: Buffer, contentType: string) => JsonBody;

function addBodyParser(
  server: FastifyInstance,
  mediaTypes: readonly string[],
  bodyMemory: MemoryBudget,
  bytesMax: number,
  parse: ParseBody,
): void {
  server.addContentTypeParser([...mediaTypes], (request, payload, done) => {
    const onBody = (error: Error | null, body?: ReceivedBody): void => {
      if (!body) done(error);
      else if (body.bytes <= PARSED_AT_ONCE_BYTES_MAX) {
        runInLoopBatch(() => parseBody(request, body, parse, done));
      } else {
        const turn = eventLoopTurns.next(bodyOwner(request));
        void turn.then(() => parseBody(request, body, parse, done));
      }
    };
    if (request.receivedBody) {
      onBody(null, request.receivedBody);
      return;
    }
    const codingError = contentCodingError(request);
    if (codingError) {
      done(codingError);
      return;
    }
    const isAnonymous = !request.caller && !request.signedIn && !request.operator;
    const limits = {
      bytesMax: isAnonymous ? Math.min(ANONYMOUS_BODY_BYTES_MAX, bytesMax) : bytesMax,
      reserve: () => bodyMemory.reserve(bodyOwner(request)),
      nextTurn: () => eventLoopTurns.next(bodyOwner(request)),
    };
    readBody(payload, limits, onBody);
  });
}

/** A compressed body of a few bytes could become any number of bytes, so none is accepted. */
function contentCodingError({ headers }: FastifyRequest): RefusedError | null {
  const coding = headers['content-encoding'] || 'identity';
  if (coding.toLowerCase() === 'identity') return null;
  const detail = `The body is compressed (Content-Encoding: ${coding}), which is not supported.`;
  const fix = 'Send the body uncompressed, without Content-Encoding.';
  return new RefusedError('unsupported_media_type', detail, { fix });
}

/** Authentication is complete before a body is read, so only unauthenticated requests have no caller. */
function bodyOwner({ caller, signedIn, operator, ip }: FastifyRequest): string {
  return caller?.workspaceId ?? signedIn?.person.id ?? operator?.keyId ?? clientNetwork(ip);
}

function parseBody(
  request: FastifyRequest,
  received: ReceivedBody,
  parse: ParseBody,
  done: (error: Error | null, value?: unknown) => void,
): void {
  const { chunks } = received;
  try {
    if (request.raw.socket.destroyed) {
      // No client receives this error; it only prevents the work.
      throw new RefusedError('malformed_request', 'The client disconnected while waiting.');
    }
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    // Many clients send a Content-Type with every request, even without a body.
    const contentType = request.formType ?? request.headers['content-type'] ?? '';
    const parsed = body.length === 0 ? undefined : parse(body, contentType);
    request.textErrors = parsed?.textErrors ?? null;
    request.receivedBody = received;
    done(null, parsed?.value);
  } catch (error) {
    received.release?.();
    done(error as Error);
  }
}
