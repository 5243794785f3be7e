import type { Authenticator } from '../../accounts/authenticate.ts';
import type { Operation } from '../operation.ts';
import { problemDocument } from '../problems/problem-details.ts';
import { API_PREFIX } from './api-prefix.ts';
import type { ApiSurface } from './api-surface.ts';
import { bearerToken } from './bearer-token.ts';

/** Our own API: bearer keys, sessions of the dashboard, and problem documents. */
export function mainSurface(
  operations: readonly Operation[],
  authenticator: Pick<Authenticator, 'authenticate'>,
): ApiSurface {
  return {
    prefix: API_PREFIX,
    operations,
    authenticate(request) {
      request.credential ??= bearerToken(request.headers.authorization ?? '');
      return authenticator.authenticate(request.credential as string, request.ip);
    },
    acceptsSessions: true,
    waitsAtRateLimit: false,
    renderProblem: problemDocument,
  };
}
