import type { Schema } from '../../api/client.ts';

/** The name of what was changed, as it was sent: an id alone says little to a reader. */
export function targetName({
  target,
  details,
}: Pick<Schema<'AuditEntry'>, 'target' | 'details'>): string | undefined {
  const { body = {}, arguments: given = [] } = details as {
    body?: Record<string, unknown>;
    arguments?: unknown[];
  };
  return [body.name, body.url, body.key, given[0]].find(
    (value): value is string =>
      typeof value === 'string' && value !== target && !REPLACED.test(value),
  );
}

/** What the log does not keep, such as `[redacted]`. */
const REPLACED = /^\[[a-z ]+\]$/;
