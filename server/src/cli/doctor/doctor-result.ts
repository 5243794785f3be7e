/** The result of one check. */
export interface CheckResult {
  name: string;
  status: 'ok' | 'warn' | 'fail';
  /** The state that was found. */
  detail: string;
  /** How to fix it; null when there is no issue. */
  fix: string | null;
}

export function ok(name: string, detail: string): CheckResult {
  return { name, status: 'ok', detail, fix: null };
}

export function warn(name: string, detail: string, fix: string): CheckResult {
  return { name, status: 'warn', detail, fix };
}

export function fail(name: string, detail: string, fix: string): CheckResult {
  return { name, status: 'fail', detail, fix };
}
