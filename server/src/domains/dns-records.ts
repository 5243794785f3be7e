import { randomBytes } from 'node:crypto';

/**
 * The DNS records that make a domain ready to send: a domain with its token, keys and hosts comes
 * in, the list to publish leaves, each record with the reason for it in a sentence. What is not
 * required makes mail better, and its absence stops nothing.
 */

export type RecordPurpose =
  | 'ownership'
  | 'dkim'
  | 'return_path'
  | 'return_path_spf'
  | 'dmarc'
  | 'tracking';

export interface DomainRecord {
  purpose: RecordPurpose;
  type: 'TXT' | 'MX' | 'CNAME';
  /** In full, without a trailing dot. */
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
  /** A host below the domain, so that the return path is aligned with the From address. */
  returnPathHost: string;
  /** Where bounces arrive: the target of the return path's MX. */
  bounceHost: string;
  /** What lets our servers pass SPF: `include:spf.example.net`, `ip4:192.0.2.1 ip6:2001:db8::1`. */
  spfMechanism: string;
  tracking?: { host: string; target: string };
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
      explanation: 'Proves that this workspace may send mail in the name of the domain.',
    },
    ...inputs.keys.map((key) => keyRecord(domain, key)),
    {
      purpose: 'return_path',
      type: 'MX',
      name: returnPathHost,
      value: `10 ${inputs.bounceHost}`,
      required: true,
      explanation:
        'Brings bounces back to us, so that addresses which do not exist are noticed.' +
        unqualifiedHostNote(inputs.bounceHost, 'BOUNCE_HOST'),
    },
    {
      purpose: 'return_path_spf',
      type: 'TXT',
      name: returnPathHost,
      value: `v=spf1 ${inputs.spfMechanism} ~all`,
      required: true,
      explanation:
        'Names our servers as senders for the domain (SPF).' +
        unqualifiedHostNote(/^a:(\S+)$/.exec(inputs.spfMechanism)?.[1], 'SPF_MECHANISM'),
    },
    {
      purpose: 'dmarc',
      type: 'TXT',
      name: `_dmarc.${domain}`,
      value: 'v=DMARC1; p=none',
      required: false,
      explanation:
        'Tells receivers that the domain checks its mail (DMARC). This is the policy to start with; make it stricter when all your mail passes.',
    },
    ...trackingRecords(inputs.tracking),
  ];
}

/** A server that nobody has named calls itself what its machine is called, which no DNS knows. */
function unqualifiedHostNote(host: string | undefined, setting: string): string {
  if (host === undefined || host.includes('.')) return '';
  return ` Not as it stands: “${host}” is known to this machine alone. The operator sets HELO_NAME, or ${setting}, to a full name, and this record follows.`;
}

/** Told to one workspace for one domain: nobody can guess what another one has to publish. */
export function newOwnershipToken(): string {
  return randomBytes(24).toString('hex');
}

const KEY_EXPLANATIONS: Readonly<Record<PublicKeyRecord['slot'], string>> = {
  current: 'The public key that receivers check our signatures with (DKIM).',
  next: 'The next public key (DKIM), published ahead so that changing keys needs no change here.',
  retired:
    'A former public key (DKIM). Keep it for a week after a change: mail is still on its way.',
};

function keyRecord(domain: string, key: PublicKeyRecord): DomainRecord {
  return {
    purpose: 'dkim',
    type: 'TXT',
    name: `${key.selector}._domainkey.${domain}`,
    value: key.dnsValue,
    // Every receiver knows RSA; Ed25519 (RFC 8463) is a second signature for those that know more.
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
      explanation: 'Lets tracked links carry your own domain instead of ours.',
    },
  ];
}
