/** Where and how to publish records, by the provider that the API recognizes. */
export interface DnsProvider {
  label: string;
  /** The page with the DNS settings. */
  url?: (zone: string) => string;
  /** What differs from other providers. */
  hints: readonly string[];
  /** Expects names without the zone. */
  appendsZone: boolean;
}

const RELATIVE_NAMES = 'Enter names without the domain, as shown here.';

export const DNS_PROVIDERS: Record<string, DnsProvider> = {
  cloudflare: {
    label: 'Cloudflare',
    url: () => 'https://dash.cloudflare.com/?to=/:account/:zone/dns/records',
    hints: [
      'To add all records at once, download the zone file and upload it under DNS › Records › Import and Export.',
      'Set CNAME records to “DNS only” (gray cloud).',
    ],
    appendsZone: false,
  },
  route53: {
    label: 'Amazon Route 53',
    url: () => 'https://console.aws.amazon.com/route53/v2/hostedzones',
    hints: [
      RELATIVE_NAMES,
      'Put TXT values in double quotes, and split those longer than 255 characters as in the zone file.',
    ],
    appendsZone: true,
  },
  google_cloud: {
    label: 'Google Cloud DNS',
    url: () => 'https://console.cloud.google.com/net-services/dns/zones',
    hints: [
      RELATIVE_NAMES,
      'To add all records at once: gcloud dns record-sets import FILE --zone-file-format --zone=ZONE',
    ],
    appendsZone: true,
  },
  azure: {
    label: 'Azure DNS',
    url: () => 'https://portal.azure.com/#browse/Microsoft.Network%2FdnsZones',
    hints: [
      RELATIVE_NAMES,
      'Records of one type at one name form a record set: add values to an existing one.',
    ],
    appendsZone: true,
  },
  godaddy: {
    label: 'GoDaddy',
    url: (zone) => `https://dcc.godaddy.com/manage/${encodeURIComponent(zone)}/dns`,
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
  namecheap: {
    label: 'Namecheap',
    url: (zone) =>
      `https://ap.www.namecheap.com/domains/domaincontrolpanel/${encodeURIComponent(zone)}/advancedns`,
    hints: [
      `${RELATIVE_NAMES} The records are under Advanced DNS.`,
      'For the MX record, select “Custom MX” under Mail Settings first.',
    ],
    appendsZone: true,
  },
  digitalocean: {
    label: 'DigitalOcean',
    url: (zone) => `https://cloud.digitalocean.com/networking/domains/${encodeURIComponent(zone)}`,
    hints: [RELATIVE_NAMES, 'End the value of MX and CNAME records with a dot.'],
    appendsZone: true,
  },
  vercel: {
    label: 'Vercel',
    url: () => 'https://vercel.com/dashboard/domains',
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
  hetzner: {
    label: 'Hetzner',
    url: () => 'https://dns.hetzner.com/',
    hints: [RELATIVE_NAMES, 'End the value of MX and CNAME records with a dot.'],
    appendsZone: true,
  },
  ovh: {
    label: 'OVHcloud',
    url: () => 'https://www.ovh.com/manager/',
    hints: [`${RELATIVE_NAMES} The records are under Domain names › DNS zone.`],
    appendsZone: true,
  },
  gandi: {
    label: 'Gandi',
    url: (zone) => `https://admin.gandi.net/domain/${encodeURIComponent(zone)}/records`,
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
  ionos: {
    label: 'IONOS',
    url: () => 'https://my.ionos.com/domains',
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
  squarespace: {
    label: 'Squarespace',
    url: () => 'https://account.squarespace.com/domains',
    hints: [`${RELATIVE_NAMES} The records are under DNS › Custom records.`],
    appendsZone: true,
  },
  porkbun: {
    label: 'Porkbun',
    url: () => 'https://porkbun.com/account/domainsSpeedy',
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
  hostinger: {
    label: 'Hostinger',
    url: () => 'https://hpanel.hostinger.com/domains',
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
  dnsimple: {
    label: 'DNSimple',
    url: () => 'https://dnsimple.com/dashboard',
    hints: [RELATIVE_NAMES],
    appendsZone: true,
  },
};
