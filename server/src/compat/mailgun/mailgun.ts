import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatProvider } from '../compat-provider.ts';
import { domainOperations } from './domains.ts';
import { MailgunError, renderProblem } from './errors.ts';
import { eventOperations } from './events.ts';
import { logsOperation } from './logs.ts';
import { messageOperations } from './messages.ts';
import { metricsOperation } from './metrics.ts';
import { NOT_OFFERED } from './not-offered.ts';
import { MAILGUN } from './paging.ts';
import { statisticsOperations } from './statistics.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';

/** Mailgun's API, as its client libraries use it: https://documentation.mailgun.com. */
export const mailgun: CompatProvider = {
  ...MAILGUN,
  operations: (deps) => [
    ...messageOperations(deps),
    ...eventOperations(deps),
    logsOperation(deps),
    ...statisticsOperations(deps),
    metricsOperation(deps),
    ...suppressionOperations(deps),
    ...templateOperations(deps),
    ...domainOperations(deps),
  ],
  // Ghost sends its newsletters through Mailgun only, and keeps no more than the origin of the URL
  // that it is configured with.
  rootPaths: ['/v1/analytics', '/v3', '/v4'],
  authenticate(request, authenticator) {
    request.credential ??= basicPassword(request.headers.authorization ?? '');
    return authenticator.authenticate(request.credential as string, request.ip);
  },
  notOffered: NOT_OFFERED,
  renderProblem,
  errorSchema: MailgunError,
  securityScheme: {
    type: 'http',
    scheme: 'basic',
    description: 'The user `api` with a Postrider API key as the password.',
  },
};

const USER = 'api:';

function basicPassword(header: string): string {
  const encoded = /^Basic +/i.test(header) ? header.slice('Basic '.length) : '';
  const credentials = Buffer.from(encoded, 'base64').toString();
  if (credentials.startsWith(USER) && credentials !== USER) return credentials.slice(USER.length);
  const detail = 'The request has no Authorization header with the user "api" and an API key.';
  throw new RefusedError('missing_api_key', detail);
}
