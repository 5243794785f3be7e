import { Type } from 'typebox';
import type { ProblemCode } from '../../problems/problem-types.ts';

/** The problems that a send can have beyond its schema. */
export const SEND_PROBLEMS: readonly ProblemCode[] = [
  'workspace_suspended',
  'domain_not_owned',
  'domain_not_verified',
  'domain_not_allowed',
  'stream_not_allowed',
  'stream_not_found',
  'missing_variables',
  'template_not_found',
  'template_syntax',
  'template_limit',
  'content_conflict',
  'content_missing',
  'message_id_in_use',
  'quota_exceeded',
  'overloaded',
];

/** Marks a response as a replay. */
export const REPLAYED = { 'idempotent-replayed': 'true' };

export const REPLAYED_HEADER = {
  'Idempotent-Replayed': {
    description: '`true` if this is a replay of the first response.',
    schema: Type.String(),
  },
};
