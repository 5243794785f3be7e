import type { RecordCheck } from './record-states.ts';

/** A sending domain of a workspace as stored. Private keys are never part of it. */
export interface Domain {
  workspaceId: string;
  id: string;
  /** A-labels, lower case. */
  name: string;
  status: DomainStatus;
  /** The operator's word that the domain is ours, without DNS. */
  trusted: boolean;
  ownershipToken: string;
  /** Below the domain, so that the return path is aligned with the From address. */
  returnPathHost: string;
  trackingHost: string | null;
  tls: TlsSetting;
  trackOpens: boolean;
  trackClicks: boolean;
  checks: readonly RecordCheck[];
  keys: readonly DomainKey[];
  createdAtMs: number;
  /** When it last became verified. */
  verifiedAtMs: number | null;
  checkedAtMs: number | null;
  /** Null: only when asked. */
  checkDueAtMs: number | null;
}

export const DOMAIN_STATUSES = ['pending', 'verified', 'degraded', 'failed'] as const;
export type DomainStatus = (typeof DOMAIN_STATUSES)[number];

export const TLS_SETTINGS = ['opportunistic', 'required'] as const;
export type TlsSetting = (typeof TLS_SETTINGS)[number];

/** The public side of a signing key, and what it is for now. */
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

/** The operator's side of the records: where mail of every domain comes from and goes back to. */
export interface MailHosts {
  /** Where bounces arrive: the target of every return path's MX. */
  bounceHost: string;
  /** What lets our servers pass SPF, such as `a:mail.example.net` or `ip4:192.0.2.1`. */
  spfMechanism: string;
  /** The target of tracking hosts. */
  trackingTarget: string;
}
