import type { Mistake, RecordStatus } from './check-result.ts';
import type { DomainRecord } from './dns-records.ts';

/** A sending domain of a workspace as stored. Private keys are never part of it. */
export interface Domain {
  workspaceId: string;
  id: string;
  /** A-labels, lower case. */
  name: string;
  status: DomainStatus;
  /** The operator vouches for the domain, so it is verified without DNS records. */
  trusted: boolean;
  ownershipToken: string;
  /** A subdomain of the domain, so that the return path is aligned with the From address. */
  returnPathHost: string;
  trackingHost: string | null;
  tls: TlsSetting;
  trackOpens: boolean;
  trackClicks: boolean;
  /** Inbound mail to the domain is stored. Only one workspace can receive for a name. */
  receiving: boolean;
  checks: readonly RecordCheck[];
  keys: readonly DomainKey[];
  createdAtMs: number;
  /** When it last became verified. */
  verifiedAtMs: number | null;
  checkedAtMs: number | null;
  /** Null: checked only on request. */
  checkDueAtMs: number | null;
}

/** The stored result of the last check of one record. */
export interface RecordCheck {
  type: DomainRecord['type'];
  name: string;
  value: string;
  status: RecordStatus;
  found: readonly string[];
  mistakes: readonly Mistake[];
  /** The last conclusive result; failed lookups do not change it. */
  lastKnown: KnownStatus | null;
  everFound: boolean;
  /** Since when the record is known to be missing or wrong. */
  absentSinceMs: number | null;
}

export type KnownStatus = Exclude<RecordStatus, 'lookup_failed'>;

export const DOMAIN_STATUSES = ['pending', 'verified', 'degraded', 'failed'] as const;
export type DomainStatus = (typeof DOMAIN_STATUSES)[number];

export const TLS_SETTINGS = ['opportunistic', 'required'] as const;
export type TlsSetting = (typeof TLS_SETTINGS)[number];

/** The public part of a signing key, and its role in rotation. */
export interface DomainKey {
  selector: string;
  algorithm: 'rsa' | 'ed25519';
  slot: KeySlot;
  dnsValue: string;
  createdAtMs: number;
  retiredAtMs: number | null;
}

export const KEY_SLOTS = ['current', 'next', 'retired'] as const;
export type KeySlot = (typeof KEY_SLOTS)[number];

/** The operator's side of the DNS records, the same for every domain. */
export interface MailHosts {
  /** The host that receives bounces: the target of every return path's MX record. */
  bounceHost: string;
  /** The SPF mechanism of our servers, such as `a:mail.example.net` or `ip4:192.0.2.1`. */
  spfMechanism: string;
  /** The CNAME target of tracking hosts. */
  trackingTarget: string;
}

/** The workspace that receives the mail of a domain. */
export interface ReceivingDomain {
  workspaceId: string;
  domainId: string;
  name: string;
}

/** What accepting a message needs to know about its sender domain. */
export interface SenderDomain {
  name: string;
  /** Verified through DNS, or trusted by the operator. */
  maySend: boolean;
  /** Why the operator suspended the workspace's live mail; null if not suspended. */
  suspendedFor: string | null;
  trackOpens: boolean;
  trackClicks: boolean;
  /**
   * The domain's own host for tracked links, once its record was found; null for the server's host.
   */
  trackingHost: string | null;
}
