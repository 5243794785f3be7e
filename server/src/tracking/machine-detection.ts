/** What a request for a tracked address tells of who made it. */
export interface TrackingRequest {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Whether a program asked, and no person: link scanners, prefetchers, previews. A judgement by what
 * they say of themselves; those that hide it are found by their haste (see visits-store.ts). Gmail's
 * and Yahoo's image proxies ask when a person looks, so they count as the person.
 */
export function isMachine({ method, headers }: TrackingRequest): boolean {
  if (method !== 'GET') return true;
  const purpose = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']];
  if (purpose.some((value) => /prefetch|preview|prerender/i.test(String(value ?? '')))) return true;
  const agent = String(headers['user-agent'] ?? '').trim();
  // Apple's privacy proxy loads all images of all mail beforehand, and says no more than this.
  return agent === '' || agent === 'Mozilla/5.0' || (AUTOMATED_AGENTS.test(agent) && !HUMAN_IMAGE_PROXIES.test(agent));
}

const AUTOMATED_AGENTS =
  /bot\b|bots\b|crawl|spider|scan|preview|prefetch|headless|phantom|curl|wget|python|java\/|go-http|okhttp|axios|node|ruby|perl|libwww|httpclient|barracuda|proofpoint|mimecast|symantec|trendmicro|sophos|fireeye|safebrowsing|urlcheck|monitor|validator/i;
const HUMAN_IMAGE_PROXIES = /GoogleImageProxy|YahooMailProxy/i;
