import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { bounceOperations } from './bounces.ts';
import { emailOperations } from './emails.ts';
import { PostmarkError, renderProblem } from './errors.ts';
import { messageOperations } from './messages.ts';
import { streamOperations } from './streams.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';

/** Postmark accepts this token from everyone. Here, all mail belongs to a workspace and its limits. */
const SHARED_TEST_TOKEN = 'POSTMARK_API_TEST';

/** Postmark's server API, as its client libraries use it: https://postmarkapp.com/developer. */
export const postmark: CompatProvider = {
  name: 'postmark',
  title: 'Postmark',
  operations: (deps) => [
    ...emailOperations(deps),
    ...messageOperations(deps),
    ...bounceOperations(deps),
    ...suppressionOperations(deps),
    ...templateOperations(deps),
    ...streamOperations(),
  ],
  authenticate: ({ headers, ip }, authenticator) => {
    const token = headers['x-postmark-server-token'];
    if (token === SHARED_TEST_TOKEN) {
      const detail = `${SHARED_TEST_TOKEN} belongs to no workspace, so it cannot be used here. Use a test key, whose mail goes to the test inbox.`;
      throw new RefusedError('invalid_api_key', detail);
    }
    if (typeof token === 'string' && token !== '') return authenticator.authenticate(token, ip);
    throw new RefusedError(
      'missing_api_key',
      'The request has no X-Postmark-Server-Token header with an API key.',
    );
  },
  renderProblem,
  errorSchema: PostmarkError,
  securityScheme: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Postmark-Server-Token',
    description: 'A Postrider API key.',
  },
};
