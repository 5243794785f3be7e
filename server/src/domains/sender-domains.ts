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
