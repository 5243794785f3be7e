import type { IncomingHttpHeaders } from 'node:http';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Keeps other sites from acting with a visitor's cookie. A browser adds the cookie by itself, so a
 * request that changes something must prove that our own pages made it: by a header that no other
 * site can set without asking us first (we never allow it), and by what the browser says about where
 * the request comes from, when it says anything.
 */
export function rejectCrossSite(headers: IncomingHttpHeaders, baseUrl: string): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (headers[CSRF_HEADER] === undefined) {
    throw crossSiteError('The request has no Postrider-Mode header.');
  }
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw crossSiteError(`The browser says that the request comes from another origin (${site}).`);
  }
  if (origin !== undefined && !isOwnOrigin(origin, host, baseUrl)) {
    throw crossSiteError('The Origin of the request is not the address of this application.');
  }
}

const CSRF_HEADER = 'postrider-mode';

/** Schemes are not compared: behind a proxy that ends TLS we do not know our own. */
function isOwnOrigin(origin: string, host: string | undefined, baseUrl: string): boolean {
  if (!URL.canParse(origin)) return false;
  const from = new URL(origin).host;
  return from !== '' && (from === host?.toLowerCase() || from === new URL(baseUrl).host);
}

function crossSiteError(detail: string): RefusedError {
  return new RefusedError('cross_site_request', detail);
}
