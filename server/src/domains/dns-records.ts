import { randomBytes } from 'node:crypto';

/**
 * The DNS records that a domain must publish before it can send: takes its token, keys and hosts,
 * and returns the records with an explanation each. Records that are not required improve
 * deliverability; sending works without them.
 */

export type RecordPurpose =
  | 'ownership'
  | 'dkim'
  | 'return_path'
  | 'return_path_spf'
  | 'dmarc'
  | 'tracking'
  | 'receiving';

export interface DomainRecord {
  purpose: RecordPurpose;
  type: 'TXT' | 'MX' | 'CNAME';
  /** Fully qualified, without a trailing dot. */
  name: string;
  value: string;
  required: boolean;
  explanation: string;
}

export interface RecordInputs {
  /** A-labels, lower case. */
  domain: string;
  ownershipToken: string;
  keys: readonly PublicKeyRecord[];
  /** A subdomain of the domain, so that the return path is aligned with the From address. */
  returnPathHost: string;
  /** The host that receives bounces: the target of the return path's MX record. */
  bounceHost: string;
  /**
   * The SPF mechanisms of our servers: `include:spf.example.net`, `ip4:192.0.2.1 ip6:2001:db8::1`.
   */
  spfMechanism: string;
  tracking?: { host: string; target: string };
  /** Whether mail to the domain is received. */
  receiving: boolean;
}

export interface PublicKeyRecord {
  selector: string;
  algorithm: 'rsa' | 'ed25519';
  slot: 'current' | 'next' | 'retired';
  /** `v=DKIM1; k=…; p=…` */
  dnsValue: string;
}

export const OWNERSHIP_PREFIX = 'postrider-verification=';

export function recordsToPublish(inputs: RecordInputs): DomainRecord[] {
  const { domain, returnPathHost } = inputs;
  return [
    {
      purpose: 'ownership',
      type: 'TXT',
      name: `_postrider.${domain}`,
      value: `${OWNERSHIP_PREFIX}${inputs.ownershipToken}`,
      required: true,
      explanation: 'Proves that you control the domain and allow this workspace to send from it.',
    },
    ...inputs.keys.map((key) => keyRecord(domain, key)),
    {
      purpose: 'return_path',
      type: 'MX',
      name: returnPathHost,
      value: `10 ${inputs.bounceHost}`,
      required: true,
      explanation:
        'Routes bounces back to this server, so that invalid addresses are detected and suppressed.' +
        unqualifiedHostNote(inputs.bounceHost, 'BOUNCE_HOST'),
    },
    {
      purpose: 'return_path_spf',
      type: 'TXT',
      name: returnPathHost,
      value: `v=spf1 ${inputs.spfMechanism} ~all`,
      required: true,
      explanation:
        'Authorizes our servers to send for the domain (SPF).' +
        unqualifiedHostNote(/^a:(\S+)$/.exec(inputs.spfMechanism)?.[1], 'SPF_MECHANISM'),
    },
    {
      purpose: 'dmarc',
      type: 'TXT',
      name: `_dmarc.${domain}`,
      value: 'v=DMARC1; p=none',
      required: false,
      explanation:
        'Sets the policy for mail that fails authentication (DMARC). Start with this policy, and make it stricter once all your mail passes.',
    },
    ...trackingRecords(inputs.tracking),
    ...receivingRecords(inputs),
  ];
}

/**
 * A server without a configured name uses the machine's host name, which DNS usually does not know.
 */
function unqualifiedHostNote(host: string | undefined, setting: string): string {
  if (host === undefined || host.includes('.')) return '';
  return ` This record will not work yet: “${host}” is not a fully qualified host name. The operator must set HELO_NAME or ${setting}, and the record will change accordingly.`;
}

/**
 * Unguessable and unique to one workspace and domain, so that no workspace can claim another's
 * record.
 */
export function newOwnershipToken(): string {
  return randomBytes(24).toString('hex');
}

const KEY_EXPLANATIONS: Readonly<Record<PublicKeyRecord['slot'], string>> = {
  current: 'The public key that receivers use to verify our signatures (DKIM).',
  next: 'The next public key (DKIM), published in advance so that keys can be rotated without a DNS change.',
  retired:
    'A retired public key (DKIM). Keep it for a week after rotation, so that mail in transit can still be verified.',
};

function keyRecord(domain: string, key: PublicKeyRecord): DomainRecord {
  return {
    purpose: 'dkim',
    type: 'TXT',
    name: `${key.selector}._domainkey.${domain}`,
    value: key.dnsValue,
    // Every receiver supports RSA; Ed25519 (RFC 8463) is a second signature for those that support
    // it.
    required: key.algorithm === 'rsa' && key.slot !== 'retired',
    explanation: KEY_EXPLANATIONS[key.slot],
  };
}

function trackingRecords(tracking: RecordInputs['tracking']): DomainRecord[] {
  if (!tracking) return [];
  return [
    {
      purpose: 'tracking',
      type: 'CNAME',
      name: tracking.host,
      value: tracking.target,
      required: false,
      explanation: 'Lets tracked links use your own domain instead of ours.',
    },
  ];
}

/** Not required: sending works without it. */
function receivingRecords({ domain, bounceHost, receiving }: RecordInputs): DomainRecord[] {
  if (!receiving) return [];
  return [
    {
      purpose: 'receiving',
      type: 'MX',
      name: domain,
      value: `10 ${bounceHost}`,
      required: false,
      explanation:
        'Routes mail to addresses at this domain to this server. If the domain has mailboxes elsewhere, receive mail at a subdomain instead, because all of it would arrive here.' +
        unqualifiedHostNote(bounceHost, 'BOUNCE_HOST'),
    },
  ];
}
