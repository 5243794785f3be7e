/**
 * Guards that run before the user switches workspaces or signs out. Neither changes the URL, so the
 * router's own blockers do not run; an editor with unsaved changes registers a guard here instead.
 */
type LeaveGuard = () => Promise<boolean>;

const guards = new Set<LeaveGuard>();

/** Registers a guard until the returned function is called. */
export function addLeaveGuard(guard: LeaveGuard): () => void {
  guards.add(guard);
  return () => {
    guards.delete(guard);
  };
}

export async function canLeave(): Promise<boolean> {
  for (const guard of guards) {
    if (!(await guard())) return false;
  }
  return true;
}
