/** The extensions that a receiver offers, parsed from its EHLO reply (RFC 5321 section 4.1.1.1). */
export interface SmtpCapabilities {
  pipelining: boolean;
  /** RFC 3030: messages are sent with BDAT instead of DATA. */
  chunking: boolean;
  eightBitMime: boolean;
  smtpUtf8: boolean;
  startTls: boolean;
  /** RFC 3461: required for ORCPT= in RCPT. */
  dsn: boolean;
  /** Whether SIZE is offered; required for SIZE= in MAIL. */
  size: boolean;
  /** The maximum message size; null when there is no stated limit. */
  sizeMaxBytes: number | null;
  /** Mechanisms in upper case. */
  auth: ReadonlySet<string>;
}

/** After HELO, no extension may be used. */
export const NO_CAPABILITIES: SmtpCapabilities = {
  pipelining: false,
  chunking: false,
  eightBitMime: false,
  smtpUtf8: false,
  startTls: false,
  dsn: false,
  size: false,
  sizeMaxBytes: null,
  auth: new Set(),
};

export function parseCapabilities(ehloLines: readonly string[]): SmtpCapabilities {
  const auth = new Set<string>();
  const capabilities: SmtpCapabilities = { ...NO_CAPABILITIES, auth };
  for (const line of ehloLines.slice(1)) {
    const [keyword = '', ...parameters] = line.slice(4).trim().toUpperCase().split(/\s+/);
    if (keyword === 'PIPELINING') capabilities.pipelining = true;
    else if (keyword === 'CHUNKING') capabilities.chunking = true;
    else if (keyword === '8BITMIME') capabilities.eightBitMime = true;
    else if (keyword === 'SMTPUTF8') capabilities.smtpUtf8 = true;
    else if (keyword === 'STARTTLS') capabilities.startTls = true;
    else if (keyword === 'DSN') capabilities.dsn = true;
    else if (keyword === 'SIZE') {
      capabilities.size = true;
      capabilities.sizeMaxBytes = sizeLimit(parameters[0]);
    } else if (keyword === 'AUTH' || keyword.startsWith('AUTH=')) {
      // Some old relays write "AUTH=LOGIN PLAIN".
      for (const mechanism of [keyword.slice(5), ...parameters]) if (mechanism) auth.add(mechanism);
    }
  }
  return capabilities;
}

/** RFC 1870: absent or zero means that there is no fixed limit. */
function sizeLimit(parameter: string | undefined): number | null {
  const bytes = /^\d{1,15}$/.test(parameter ?? '') ? Number(parameter) : 0;
  return bytes > 0 ? bytes : null;
}
