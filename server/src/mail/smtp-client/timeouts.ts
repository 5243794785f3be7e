/** The maximum time for each complete reply. The defaults follow RFC 5321 section 4.5.3.2. */
export interface SmtpTimeouts {
  connectMs: number;
  greetingMs: number;
  ehloMs: number;
  /** For the reply to STARTTLS, and again for the handshake. */
  startTlsMs: number;
  authMs: number;
  mailMs: number;
  rcptMs: number;
  dataMs: number;
  /** For one block of a large message. */
  blockMs: number;
  finalDotMs: number;
  quitMs: number;
}

const MINUTE_MS = 60_000;

export const RFC_TIMEOUTS: SmtpTimeouts = {
  connectMs: 30_000,
  greetingMs: 5 * MINUTE_MS,
  ehloMs: 5 * MINUTE_MS,
  startTlsMs: 2 * MINUTE_MS,
  authMs: 5 * MINUTE_MS,
  mailMs: 5 * MINUTE_MS,
  rcptMs: 5 * MINUTE_MS,
  dataMs: 2 * MINUTE_MS,
  blockMs: 3 * MINUTE_MS,
  finalDotMs: 10 * MINUTE_MS,
  quitMs: 5_000,
};
