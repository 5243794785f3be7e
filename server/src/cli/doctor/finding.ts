/** What one check of the doctor found. */
export interface Finding {
  name: string;
  status: 'ok' | 'warn' | 'fail';
  /** What is so. */
  detail: string;
  /** What to do about it; null when all is well. */
  fix: string | null;
}

export function ok(name: string, detail: string): Finding {
  return { name, status: 'ok', detail, fix: null };
}

export function warn(name: string, detail: string, fix: string): Finding {
  return { name, status: 'warn', detail, fix };
}

export function fail(name: string, detail: string, fix: string): Finding {
  return { name, status: 'fail', detail, fix };
}
