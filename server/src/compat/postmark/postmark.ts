import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { emailOperations } from './emails.ts';
import { PostmarkError, renderProblem } from './errors.ts';
import { messageOperations } from './messages.ts';
import { suppressionOperations } from './suppressions.ts';

/** Postmark's server API, as its client libraries use it: https://postmarkapp.com/developer. */
export const postmark: CompatProvider = {
  name: 'postmark',
  title: 'Postmark',
  operations: (deps) => [
    ...emailOperations(deps),
    ...messageOperations(deps),
    ...suppressionOperations(deps),
  ],
  authenticate: ({ headers, ip }, authenticator) => {
    const token = headers['x-postmark-server-token'];
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
