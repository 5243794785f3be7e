import type { FastifyRequest } from 'fastify';
import type { SigningCredential } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/caller.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { accountOperations } from './account.ts';
import { emailOperations } from './emails.ts';
import { renderProblem, SesError } from './errors.ts';
import { NOT_OFFERED } from './not-offered.ts';
import {
  type ArrivedRequest,
  headerReader,
  readSignature,
  type Signature,
  verifySignature,
} from './signature-v4.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';
import { isVersion1, renderVersion1Problem, version1Operations } from './version-1.ts';

/**
 * The API v2 of Amazon SES, as AWS SDKs use it: https://docs.aws.amazon.com/ses/latest/APIReference-V2.
 * Version 1 has the same URL and credentials.
 */
export const ses: CompatProvider = {
  name: 'ses',
  title: 'Amazon SES',
  operations(deps) {
    const version2 = [
      ...emailOperations(deps),
      ...suppressionOperations(deps),
      ...templateOperations(deps),
      ...accountOperations(deps),
    ];
    return [...version2, ...version1Operations(deps, version2)];
  },
  beforeSignedBody(request, authenticator, clock) {
    const signed = readSignedRequest(request, clock);
    request.credential = signed;
    const found = authenticator.findSigningCredential(signed.signature.authorization.accessKeyId);
    return found instanceof Promise ? found.then(() => undefined) : undefined;
  },
  authenticate(request, authenticator) {
    const { accessKeyId } = (request.credential as SignedRequest).signature.authorization;
    const found = authenticator.findSigningCredential(accessKeyId);
    return found instanceof Promise
      ? found.then((credential) => verify(request, credential))
      : verify(request, found);
  },
  // The transports of Symfony Mailer take a host, without a path.
  rootPaths: ['/v2/email'],
  renderProblem: (response, url) =>
    isVersion1(url, ses) ? renderVersion1Problem(response) : renderProblem(response),
  errorSchema: SesError,
  notOffered: NOT_OFFERED,
  securityScheme: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      'AWS Signature Version 4 for the service `ses` and any region, with the SES credentials of a Postrider API key.',
  },
};

interface SignedRequest {
  arrived: ArrivedRequest;
  signature: Signature;
}

function verify(request: FastifyRequest, { secret, authorize }: SigningCredential): Caller {
  const { arrived, signature } = request.credential as SignedRequest;
  verifySignature(arrived, signature, request.receivedBody?.chunks ?? [], secret);
  return authorize(request.ip);
}

/** As it arrived: the server changes neither the URL nor the list of headers. */
function readSignedRequest({ raw }: FastifyRequest, clock: Clock): SignedRequest {
  const { method = '', url = '' } = raw;
  const arrived = { method, url, header: headerReader(raw.rawHeaders, raw.headers) };
  return { arrived, signature: readSignature(arrived, clock.now()) };
}
