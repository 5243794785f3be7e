import { bearerToken } from '../../http/server/bearer-token.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { apiKeyOperations } from './api-keys.ts';
import { contactOperations } from './contacts.ts';
import { domainOperations } from './domains.ts';
import { emailOperations } from './emails.ts';
import { ResendError, renderProblem } from './errors.ts';
import { NOT_OFFERED } from './not-offered.ts';
import { receivedEmailOperations } from './received-emails.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';
import { topicOperations } from './topics.ts';

/** Resend's API, as its client libraries use it: https://resend.com/docs/api-reference. */
export const resend: CompatProvider = {
  name: 'resend',
  title: 'Resend',
  operations: (deps) => [
    ...emailOperations(deps),
    ...receivedEmailOperations(deps),
    ...domainOperations(deps),
    ...templateOperations(deps),
    ...contactOperations(deps),
    ...topicOperations(deps),
    ...suppressionOperations(deps),
    ...apiKeyOperations(deps),
  ],
  authenticate: ({ headers, ip }, authenticator) =>
    authenticator.authenticate(bearerToken(headers.authorization ?? ''), ip),
  // The transports of Symfony Mailer take a host, without a path.
  rootPaths: ['/emails'],
  notOffered: NOT_OFFERED,
  renderProblem,
  errorSchema: ResendError,
  securityScheme: { type: 'http', scheme: 'bearer', description: 'A Postrider API key.' },
};
