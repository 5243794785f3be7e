import { type Operation, operation } from '../../http/operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';

/**
 * Version 1 of the SES API, which is not offered. All its actions are sent to one path, and its clients
 * parse errors as XML: they would report an error of version 2 as an unreadable response.
 */
export function version1Operation({ baseUrl }: Pick<CompatDependencies, 'baseUrl'>): Operation {
  return operation(
    {
      id: 'sesVersion1',
      method: 'POST',
      path: '/',
      tag: 'Service',
      summary: 'Call version 1 of the API',
      description: 'Always refused, with an error that clients of version 1 understand.',
      scope: 'public',
      responses: {},
    },
    (request) => ({
      status: 400,
      mediaType: 'text/xml; charset=utf-8',
      body:
        '<ErrorResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><Error><Type>Sender</Type>' +
        '<Code>InvalidAction</Code><Message>Postrider offers version 2 of the SES API: use sesv2 ' +
        `instead of ses, or SMTP. See ${baseUrl}/docs/moving.</Message></Error>` +
        `<RequestId>${request.requestId}</RequestId></ErrorResponse>`,
    }),
  );
}
