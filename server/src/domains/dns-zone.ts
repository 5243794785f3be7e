import type { Resolver } from '../mail/dns/resolver.ts';

/**
 * Finds the DNS zone of a domain and who serves it, so that its owner gets instructions for their own
 * DNS provider. The zone is the closest ancestor with NS records: names in a provider's form are
 * relative to it, not to the domain.
 */
export interface DnsZone {
  zone: string;
  nameServers: readonly string[];
  /** An ID of `DNS_PROVIDERS`; null for any other provider. */
  provider: string | null;
}

const ZONES_MAX = 5;
const NAME_SERVERS_MAX = 13;

/** Undefined if no zone was found, or not in time. */
export async function findDnsZone(
  domain: string,
  resolver: Resolver,
): Promise<DnsZone | undefined> {
  // In parallel: an unresponsive name server costs one timeout, not one per lookup.
  const zones = await Promise.all(
    ancestors(domain).map(async (zone) => {
      const answer = await resolver.lookup('NS', zone);
      // Below a CNAME, the records are those of another zone.
      if (answer.kind !== 'found' || answer.canonical !== zone) return undefined;
      const nameServers = answer.records
        .slice(0, NAME_SERVERS_MAX)
        .map((host) => host.toLowerCase())
        .sort();
      return { zone, nameServers, provider: dnsProvider(nameServers) };
    }),
  );
  return zones.find((zone) => zone !== undefined);
}

/** The domain and its parents, closest first, without the top-level domain. */
function ancestors(domain: string): string[] {
  const labels = domain.split('.');
  return labels
    .slice(0, -1)
    .map((_, at) => labels.slice(at).join('.'))
    .slice(-ZONES_MAX);
}

/** The provider that runs all of these name servers. */
export function dnsProvider(nameServers: readonly string[]): string | null {
  const provider = DNS_PROVIDERS.find(([, pattern]) =>
    nameServers.every((host) => pattern.test(host)),
  );
  return nameServers.length > 0 && provider ? provider[0] : null;
}

/** Name servers of common DNS providers. */
const DNS_PROVIDERS: readonly (readonly [id: string, pattern: RegExp])[] = [
  ['cloudflare', /\.ns\.cloudflare\.com$/],
  ['route53', /\.awsdns-\d+\.(?:com|net|org|co\.uk)$/],
  ['google_cloud', /^ns-cloud-[a-z]\d\.googledomains\.com$/],
  ['azure', /\.azure-dns\.(?:com|net|org|info)$/],
  ['godaddy', /\.domaincontrol\.com$/],
  ['namecheap', /\.registrar-servers\.com$/],
  ['digitalocean', /^ns\d\.digitalocean\.com$/],
  ['vercel', /\.vercel-dns(?:-\d+)?\.com$/],
  ['hetzner', /\.ns\.hetzner\.(?:com|de)$|^ns\d?\.(?:second-ns|first-ns)\.(?:com|de)$/],
  ['ovh', /\.(?:ovh\.net|anycast\.me)$/],
  ['gandi', /\.gandi\.net$/],
  ['ionos', /\.ui-dns\.(?:com|org|de|biz)$/],
  ['squarespace', /\.squarespacedns\.com$/],
  ['porkbun', /\.(?:ns\.)?porkbun\.com$/],
  ['hostinger', /\.dns-parking\.com$/],
  ['dnsimple', /\.dnsimple(?:-edge)?\.(?:com|net|org|io)$/],
];
