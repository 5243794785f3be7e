import type { FastifyRequest } from 'fastify';
import type { CompatProvider } from '../compat-provider.ts';
import { accountOperations } from './account.ts';
import { emailOperations } from './emails.ts';
import { renderProblem, SesError } from './errors.ts';
import { type ArrivedRequest, readSignature, verifySignature } from './signature-v4.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';

/** The API v2 of Amazon SES, as AWS SDKs use it: https://docs.aws.amazon.com/ses/latest/APIReference-V2. */
export const ses: CompatProvider = {
  name: 'ses',
  title: 'Amazon SES',
  operations: (deps) => [
    ...emailOperations(deps),
    ...suppressionOperations(deps),
    ...templateOperations(deps),
    ...accountOperations(deps),
  ],
  async beforeSignedBody(request, authenticator, clock) {
    const { accessKeyId } = readSignature(arrived(request), clock.now());
    await authenticator.findSigningCredential(accessKeyId);
  },
  authenticate(request, authenticator, clock) {
    const signed = arrived(request);
    const signature = readSignature(signed, clock.now());
    const body = request.receivedBody?.chunks ?? [];
    const found = authenticator.findSigningCredential(signature.accessKeyId);
    const authorize = ({ secret, authorize }: Awaited<typeof found>) => {
      verifySignature(signed, signature, body, secret);
      return authorize(request.ip);
    };
    return found instanceof Promise ? found.then(authorize) : authorize(found);
  },
  renderProblem,
  errorSchema: SesError,
  securityScheme: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      'AWS Signature Version 4 for the service `ses` and any region, with the SES credentials of a Postrider API key.',
  },
};

/** As it arrived: the server changes neither the URL nor the list of headers. */
function arrived({ raw }: FastifyRequest): ArrivedRequest {
  return { method: raw.method ?? '', url: raw.url ?? '', rawHeaders: raw.rawHeaders };
}
