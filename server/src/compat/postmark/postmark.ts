import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { bounceOperations } from './bounces.ts';
import { emailOperations } from './emails.ts';
import { PostmarkError, renderProblem } from './errors.ts';
import { inboundMessageOperations } from './inbound-messages.ts';
import { messageOperations } from './messages.ts';
import { ACCOUNT_API, NOT_OFFERED } from './not-offered.ts';
import { statisticsOperations } from './statistics.ts';
import { streamOperations } from './streams.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';
import { isSharedTestToken, SHARED_TEST_TOKEN } from './test-token.ts';
import { trackingOperations } from './tracking.ts';

/** Postmark's server API, as its client libraries use it: https://postmarkapp.com/developer. */
export const postmark: CompatProvider = {
  name: 'postmark',
  title: 'Postmark',
  operations: (deps) => [
    ...emailOperations(deps),
    ...messageOperations(deps),
    ...inboundMessageOperations(deps),
    ...bounceOperations(deps),
    ...statisticsOperations(deps),
    ...trackingOperations(deps),
    ...suppressionOperations(deps),
    ...templateOperations(deps),
    ...streamOperations(deps),
  ],
  authenticate: ({ headers, ip }, authenticator) => {
    const token = headers['x-postmark-server-token'];
    if (isSharedTestToken(headers)) {
      const detail = `${SHARED_TEST_TOKEN} belongs to no workspace, so it can only be used to send. Use a test key instead.`;
      throw new RefusedError('invalid_api_key', detail);
    }
    if (typeof token === 'string' && token !== '') return authenticator.authenticate(token, ip);
    if (headers['x-postmark-account-token'] !== undefined) {
      throw new RefusedError('missing_api_key', ACCOUNT_API);
    }
    throw new RefusedError(
      'missing_api_key',
      'The request has no X-Postmark-Server-Token header with an API key.',
    );
  },
  // The transports of Symfony Mailer take a host, without a path.
  rootPaths: ['/email'],
  notOffered: NOT_OFFERED,
  renderProblem,
  errorSchema: PostmarkError,
  securityScheme: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Postmark-Server-Token',
    description: 'A Postrider API key.',
  },
};
