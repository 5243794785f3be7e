/** What SPF, DKIM and DMARC say about a mail (RFC 8601). */
export interface AuthenticationResults {
  spf: { result: (typeof SPF_RESULTS)[number]; domain: string | null };
  /** One for each signature. */
  dkim: {
    result: (typeof DKIM_RESULTS)[number];
    domain: string | null;
    selector: string | null;
  }[];
  dmarc: {
    result: (typeof DMARC_RESULTS)[number];
    /** What the domain asks receivers to do with mail that fails. */
    policy: (typeof DMARC_POLICIES)[number] | null;
    domain: string | null;
  };
}

export const SPF_RESULTS = [
  'pass',
  'fail',
  'softfail',
  'neutral',
  'none',
  'temperror',
  'permerror',
] as const;

export const DKIM_RESULTS = [
  'pass',
  'fail',
  'neutral',
  'none',
  'policy',
  'temperror',
  'permerror',
] as const;

export const DMARC_RESULTS = ['pass', 'fail', 'none', 'temperror', 'permerror'] as const;

export const DMARC_POLICIES = ['none', 'quarantine', 'reject'] as const;
