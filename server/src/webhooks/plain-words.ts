import { hostOf, portOf } from './target-url.ts';

/** Why there was no answer, for the owner of the endpoint. */
export function plainWords(error: Error, url: URL, deadlineMs: number): string {
  const host = hostOf(url);
  const place = `${host}:${portOf(url)}`;
  const code = codeOf(error);
  switch (code) {
    case 'DEADLINE':
      return `There was no answer within ${deadlineMs / 1000} seconds.`;
    case 'TARGET_REFUSED':
      return `${host} was not contacted: ${error.message}.`;
    case 'ENOTFOUND':
      return `The host name ${host} has no address.`;
    case 'EAI_AGAIN':
      return `The address of ${host} could not be looked up: the name servers did not answer.`;
    case 'ECONNREFUSED':
      return `Nothing listens at ${place}: the connection was refused.`;
    case 'ECONNRESET':
    case 'EPIPE':
      return 'The receiver closed the connection before it answered.';
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${place} cannot be reached from here.`;
    case 'CERT_HAS_EXPIRED':
      return `The certificate of ${host} has expired.`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate at ${place} is for another host.`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `The certificate of ${host} is not signed by an authority that we trust.`;
    default:
      if (code.startsWith('HPE_')) return 'The receiver answered with something that is not HTTP.';
      if (code === 'EPROTO' || code.startsWith('ERR_SSL')) {
        return `There was no agreement on TLS with ${place}. Perhaps it speaks plain http.`;
      }
      return `The request could not be made (${code}).`;
  }
}

/** Several addresses were tried and each failed in its own way: the first is as good as any. */
function codeOf(error: Error): string {
  const inner = error instanceof AggregateError ? error.errors[0] : undefined;
  return (
    (error as NodeJS.ErrnoException).code ?? (inner as NodeJS.ErrnoException)?.code ?? 'unknown'
  );
}
