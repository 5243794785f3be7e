import type { IncomingHttpHeaders } from 'node:http';
import { hashToken, isAccessKeyId, isOperatorToken, isToken } from '../accounts/api-key-token.ts';
import type { LookupKind } from '../http/pages/cell-lookup.ts';
import { UNSUBSCRIBE_PATH } from '../messages/unsubscribe-path.ts';
import { trackedWorkspace } from '../tracking/tracking-links.ts';
import { SNS_PATH } from '../webhooks/formats/ses-sns.ts';

/** What a request names, by which its cell is found. */
export interface RoutingSubject {
  kind: LookupKind;
  value: string;
}

/**
 * A credential of any API that is offered, or else the workspace of a link in an email. Undefined if the
 * request names neither, or if no cell can know what it names: typos cost no lookup.
 */
export function subjectOf(headers: IncomingHttpHeaders, url: string): RoutingSubject | undefined {
  const { authorization = '', 'x-postmark-server-token': postmarkToken } = headers;
  const credential = typeof postmarkToken === 'string' ? postmarkToken : presentedIn(authorization);
  if (isToken(credential) || isOperatorToken(credential)) {
    return { kind: 'key', value: hashToken(credential).toString('hex') };
  }
  if (isAccessKeyId(credential)) return { kind: 'credential', value: credential };
  if (credential !== '') return undefined;
  if (url.startsWith(SNS_PATH)) return { kind: 'link', value: url };
  const [path = ''] = url.split('?');
  if (path.startsWith(UNSUBSCRIBE_PATH)) return { kind: 'link', value: path };
  const workspaceId = trackedWorkspace(path);
  return workspaceId === undefined ? undefined : { kind: 'workspace', value: workspaceId };
}

/** Our own API uses Bearer; the APIs of Mailgun and Amazon SES use the others. */
function presentedIn(authorization: string): string {
  // In linear time: anyone can send 16 KB of blanks.
  const [scheme = ''] = authorization.split(' ', 1);
  const value = authorization.slice(scheme.length).trim();
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return value;
    case 'basic': {
      const credentials = Buffer.from(value, 'base64').toString();
      return credentials.slice(credentials.indexOf(':') + 1);
    }
    case 'aws4-hmac-sha256':
      return /(?:^|[ ,])Credential=([^/, ]*)\//.exec(value)?.[1] ?? authorization;
    default:
      return authorization;
  }
}
