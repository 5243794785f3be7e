import { Type } from 'typebox';
import type { ProblemCode } from '../../problems/problem-types.ts';

/** What can be wrong with a send beyond its shape. */
export const SEND_PROBLEMS: readonly ProblemCode[] = [
  'workspace_suspended',
  'domain_not_owned',
  'domain_not_verified',
  'domain_not_allowed',
  'missing_variables',
  'template_not_found',
  'template_syntax',
  'template_limit',
  'content_conflict',
  'content_missing',
  'overloaded',
];

export const REPLAYED_HEADER = {
  'Idempotent-Replayed': {
    description: '`true` when this is the first answer again.',
    schema: Type.String(),
  },
};
