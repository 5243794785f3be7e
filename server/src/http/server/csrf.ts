import type { IncomingHttpHeaders } from 'node:http';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * CSRF protection for requests with a session cookie. Browsers attach the cookie automatically,
 * so a request that changes state must prove that our own pages sent it: by a header that other
 * sites cannot set without a CORS preflight (which we never allow), and by Sec-Fetch-Site and
 * Origin if the browser sends them.
 */
export function rejectCrossSite(headers: IncomingHttpHeaders, baseUrl: string): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (headers[CSRF_HEADER] === undefined) {
    throw crossSiteError('The request has no Postrider-Mode header.');
  }
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw crossSiteError(`The browser reports a request from another origin (${site}).`);
  }
  if (origin !== undefined && !isOwnOrigin(origin, host, baseUrl)) {
    throw crossSiteError('The Origin header does not match the address of this application.');
  }
}

const CSRF_HEADER = 'postrider-mode';

/**
 * Compares hosts only: behind a TLS-terminating proxy the server does not know its own scheme.
 */
function isOwnOrigin(origin: string, host: string | undefined, baseUrl: string): boolean {
  if (!URL.canParse(origin)) return false;
  const from = new URL(origin).host;
  return from !== '' && (from === host?.toLowerCase() || from === new URL(baseUrl).host);
}

function crossSiteError(detail: string): RefusedError {
  return new RefusedError('cross_site_request', detail);
}
