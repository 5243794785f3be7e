import { isAuditType } from '../events/event-types.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Caller } from './caller.ts';

/** Refuses a caller who selects audit events and may not read the audit log. */
export function requireAuditScope(
  { scopes }: Pick<Caller, 'scopes'>,
  types: readonly string[] = [],
): void {
  if (!types.some(isAuditType) || scopes.has('read:audit_log')) return;
  throw new RefusedError('insufficient_scope', 'Audit events require read:audit_log.', {
    fix: 'Use a key with read:audit_log, or sign in as an owner or admin.',
  });
}
