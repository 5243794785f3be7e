import { bearerToken } from '../../http/server/bearer-token.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { batchOperations } from './batches.ts';
import { renderProblem, SendGridErrors } from './errors.ts';
import { mailOperations } from './mail.ts';
import { NOT_OFFERED } from './not-offered.ts';
import { scopeOperations } from './scopes.ts';
import { statisticsOperations } from './statistics.ts';
import { suppressionOperations } from './suppressions.ts';

/** SendGrid's v3 API, as its client libraries use it: https://www.twilio.com/docs/sendgrid/api-reference. */
export const sendgrid: CompatProvider = {
  name: 'sendgrid',
  title: 'SendGrid',
  operations: (deps) => [
    ...mailOperations(deps),
    ...batchOperations(deps),
    ...suppressionOperations(deps),
    ...statisticsOperations(deps),
    ...scopeOperations(),
  ],
  authenticate: ({ headers, ip }, authenticator) => {
    if (headers['on-behalf-of'] !== undefined) {
      const detail = 'There are no subusers: use a key of the workspace instead of On-Behalf-Of.';
      throw new RefusedError('malformed_request', detail);
    }
    return authenticator.authenticate(bearerToken(headers.authorization ?? ''), ip);
  },
  // The transports of Symfony Mailer take a host, without a path.
  rootPaths: ['/v3/mail'],
  notOffered: NOT_OFFERED,
  renderProblem,
  errorSchema: SendGridErrors,
  securityScheme: { type: 'http', scheme: 'bearer', description: 'A Postrider API key.' },
};
