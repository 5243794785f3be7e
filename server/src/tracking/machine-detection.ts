/** The parts of a tracking request that reveal whether a human made it. */
export interface TrackingRequest {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Whether a request was made by software rather than by a human: link scanners, prefetchers,
 * previews. Judges by what the client says about itself; clients that hide it are recognized by how
 * soon they come (tracking-store.ts). The image proxies of Gmail and Yahoo fetch when a human opens
 * the mail, so they count as human.
 */
export function isMachine({ method, headers }: TrackingRequest): boolean {
  if (method !== 'GET') return true;
  const purpose = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']];
  if (purpose.some((value) => /prefetch|preview|prerender/i.test(String(value ?? '')))) return true;
  const agent = String(headers['user-agent'] ?? '').trim();
  // Apple Mail Privacy Protection prefetches all images of all mail and sends only this user agent.
  return (
    agent === '' ||
    agent === 'Mozilla/5.0' ||
    (AUTOMATED_AGENTS.test(agent) && !HUMAN_IMAGE_PROXIES.test(agent))
  );
}

const AUTOMATED_AGENTS =
  /bot\b|bots\b|crawl|spider|scan|preview|prefetch|headless|phantom|curl|wget|python|java\/|go-http|okhttp|axios|node|ruby|perl|libwww|httpclient|barracuda|proofpoint|mimecast|symantec|trendmicro|sophos|fireeye|safebrowsing|urlcheck|monitor|validator/i;
const HUMAN_IMAGE_PROXIES = /GoogleImageProxy|YahooMailProxy/i;
