import { hostOf, portOf } from './target-url.ts';

/** The error text for the endpoint's owner when there was no response. */
export function webhookErrorText(error: Error, url: URL, deadlineMs: number): string {
  const host = hostOf(url);
  const place = `${host}:${portOf(url)}`;
  const code = errorCode(error);
  switch (code) {
    case 'DEADLINE':
      return `No response within ${deadlineMs / 1000} seconds.`;
    case 'TARGET_REFUSED':
      return `${host} was not contacted: ${error.message}.`;
    case 'ENOTFOUND':
      return `${host} has no address record.`;
    case 'EAI_AGAIN':
      return `Resolving ${host} failed: the name servers did not respond.`;
    case 'ECONNREFUSED':
      return `The connection to ${place} was refused.`;
    case 'ECONNRESET':
    case 'EPIPE':
      return 'The receiver closed the connection before responding.';
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${place} is unreachable.`;
    case 'CERT_HAS_EXPIRED':
      return `The certificate of ${host} has expired.`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate of ${place} is for a different host.`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `The certificate of ${host} is not signed by a trusted authority.`;
    default:
      if (code.startsWith('HPE_')) return 'The response is not valid HTTP.';
      if (code === 'EPROTO' || code.startsWith('ERR_SSL')) {
        return `The TLS handshake with ${place} failed. The server may be using plain HTTP.`;
      }
      return `The request failed (${code}).`;
  }
}

/** When several addresses failed, the first error is reported. */
function errorCode(error: Error): string {
  const inner = error instanceof AggregateError ? error.errors[0] : undefined;
  return (
    (error as NodeJS.ErrnoException).code ?? (inner as NodeJS.ErrnoException)?.code ?? 'unknown'
  );
}
