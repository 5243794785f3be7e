import { purgeRows } from '../db/statements/purge-rows.ts';

/** The request log and the audit log. */
export const LOG_PURGES = [
  purgeRows({
    table: 'request_log',
    delete: 'delete from request_log d',
    key: ['mode mode', 'id uuid'],
    partitionedBy: 'id',
  }),
  purgeRows({
    table: 'audit_log',
    delete: 'delete from audit_log d',
    key: ['id uuid'],
    partitionedBy: 'id',
  }),
] as const;
