import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Refuses requests that Node would misread or answer with an empty response: a transfer coding that we
 * do not decode (RFC 9112 section 6.1), no Host (section 3.2), and an expectation that we cannot meet
 * (RFC 9110 section 10.1.1). Throws before anything else about the request is looked at.
 */
export function checkHeaders(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request;
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    // Where the body ends is not certain, so nothing after it is read as a request.
    response.shouldKeepAlive = false;
    const detail = `Transfer-Encoding: ${coding} is not supported. Send the body as it is, or chunked.`;
    throw new RefusedError('unsupported_transfer_encoding', detail);
  }
  if (headers.host === undefined && request.httpVersion === '1.1') {
    throw new RefusedError('malformed_request', 'An HTTP/1.1 request must have a Host header.');
  }
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    const detail = `Expect: ${expect} is not supported. The only expectation is 100-continue.`;
    throw new RefusedError('expectation_failed', detail);
  }
}

/** Without a listener, Node answers an unknown expectation itself, before `checkHeaders`. */
export function acceptAnyExpectation(server: Server): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
