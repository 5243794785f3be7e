/** What accepting a message needs to know of the domain it is sent from. */
export interface SenderDomain {
  name: string;
  /** Verified by its DNS records, or trusted by the operator's word. */
  maySend: boolean;
  /** Why the operator has stopped the live mail of the whole workspace; null: he has not. */
  suspendedFor: string | null;
  trackOpens: boolean;
  trackClicks: boolean;
  /** The host of its own for tracked links, once its record was found; null: ours. */
  trackingHost: string | null;
}
