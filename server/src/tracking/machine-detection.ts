/** What a request for a tracked address tells of who made it. */
export interface Visitor {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Whether a program asked, and no person: link scanners, prefetchers, previews. A judgement by what
 * they say of themselves; those that hide it are found by their haste (see visits-store.ts). Gmail's
 * and Yahoo's image proxies ask when a person looks, so they count as the person.
 */
export function isMachine({ method, headers }: Visitor): boolean {
  if (method !== 'GET') return true;
  const purpose = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']];
  if (purpose.some((said) => /prefetch|preview|prerender/i.test(String(said ?? '')))) return true;
  const agent = String(headers['user-agent'] ?? '').trim();
  // Apple's privacy proxy loads all images of all mail beforehand, and says no more than this.
  return agent === '' || agent === 'Mozilla/5.0' || (PROGRAMS.test(agent) && !PROXIES.test(agent));
}

const PROGRAMS =
  /bot\b|bots\b|crawl|spider|scan|preview|prefetch|headless|phantom|curl|wget|python|java\/|go-http|okhttp|axios|node|ruby|perl|libwww|httpclient|barracuda|proofpoint|mimecast|symantec|trendmicro|sophos|fireeye|safebrowsing|urlcheck|monitor|validator/i;
const PROXIES = /GoogleImageProxy|YahooMailProxy/i;
