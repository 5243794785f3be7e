import type { IncomingHttpHeaders } from 'node:http';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Keeps other sites from acting with a visitor's cookie. A browser adds the cookie by itself, so a
 * request that changes something must prove that our own pages made it: by a header that no other
 * site can set without asking us first (we never allow it), and by what the browser says about where
 * the request comes from, when it says anything.
 */
export function refuseCrossSite(headers: IncomingHttpHeaders, baseUrl: string): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (headers[PROOF] === undefined) {
    throw crossSite('The request has no Postrider-Mode header.');
  }
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw crossSite(`The browser says that the request comes from another origin (${site}).`);
  }
  if (origin !== undefined && !isOurs(origin, host, baseUrl)) {
    throw crossSite('The Origin of the request is not the address of this application.');
  }
}

const PROOF = 'postrider-mode';

/** Schemes are not compared: behind a proxy that ends TLS we do not know our own. */
function isOurs(origin: string, host: string | undefined, baseUrl: string): boolean {
  if (!URL.canParse(origin)) return false;
  const from = new URL(origin).host;
  return from !== '' && (from === host?.toLowerCase() || from === new URL(baseUrl).host);
}

function crossSite(detail: string): RefusedError {
  return new RefusedError('cross_site_request', detail);
}
