/**
 * Who is writing is asked before the ground goes from under them. To another workspace, and out of the
 * session, no address leads by which the router could hold somebody back.
 */
type MayGo = () => Promise<boolean>;

const writers = new Set<MayGo>();

/** Asked from now on, until the returned function is called. */
export function askBeforeLeaving(mayGo: MayGo): () => void {
  writers.add(mayGo);
  return () => {
    writers.delete(mayGo);
  };
}

export async function mayLeave(): Promise<boolean> {
  for (const mayGo of writers) {
    if (!(await mayGo())) return false;
  }
  return true;
}
