import type { publicSuppression } from '../../../suppressions/suppression-entry.ts';
import { exportOperation } from '../../export-operation.ts';
import type { Operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { listSuppressions } from './list.ts';
import { Suppression } from './schemas.ts';

type Exported = ReturnType<typeof publicSuppression> & { evidence: { message_id?: string } | null };

export function exportSuppressions(
  deps: Parameters<typeof listSuppressions>[0] & { largeAnswers: LargeResponseLimiter },
): Operation {
  return exportOperation<Exported>(listSuppressions(deps), deps.largeAnswers, {
    id: 'exportSuppressions',
    summary: 'Export suppressions',
    items: 'suppressions',
    schema: Suppression,
    columns: ['email', 'domain', 'reason', 'note', 'created_at', 'expires_at', 'message_id'],
    toCells: ({ email, domain, reason, note, created_at, expires_at, evidence }) => [
      [email, domain, reason, note, created_at, expires_at, evidence?.message_id],
    ],
  });
}
