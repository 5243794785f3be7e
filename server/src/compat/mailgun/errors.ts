import { Type } from 'typebox';
import type { ProblemResponse } from '../../http/problems/problem-details.ts';
import type { ProblemCode } from '../../http/problems/problem-types.ts';
import type { RenderedProblem } from '../../http/server/api-surface.ts';
import { problemMessage } from '../problem-message.ts';

export const MailgunError = Type.Object({ message: Type.String() }, { title: 'MailgunError' });

/** Mailgun does not know a domain that is not the account's, and answers 400 to bad input. */
const STATUSES: Partial<Record<ProblemCode, number>> = {
  domain_not_owned: 404,
  domain_not_verified: 400,
};

export function renderProblem({ problem, headers }: ProblemResponse): RenderedProblem {
  const status = STATUSES[problem.code] ?? (problem.status === 422 ? 400 : problem.status);
  const detail = problemMessage(problem);
  const message = status === 401 ? `Forbidden: ${detail}` : detail;
  const body = JSON.stringify({ message });
  return { status, headers, mediaType: 'application/json; charset=utf-8', body };
}
