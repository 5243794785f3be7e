/**
 * Who is writing is asked before the ground goes from under them. To another workspace, and out of the
 * session, no address leads by which the router could hold somebody back.
 */
type LeaveGuard = () => Promise<boolean>;

const guards = new Set<LeaveGuard>();

/** Asked from now on, until the returned function is called. */
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
