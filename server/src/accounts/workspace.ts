import { encodeId } from '../lib/ids.ts';

/** A tenant. */
export interface Workspace {
  id: string;
  name: string;
  createdAtMs: number;
  suspension: Suspension | null;
}

/**
 * The operator has suspended live sending for a workspace: new messages are rejected, and queued
 * ones are held.
 */
export interface Suspension {
  sinceMs: number;
  /** Shown to the members of the workspace. */
  reason: string;
}

export function publicWorkspace(workspace: Workspace) {
  return {
    id: encodeId('wsp', workspace.id),
    name: workspace.name,
    created_at: new Date(workspace.createdAtMs).toISOString(),
    suspended: publicSuspension(workspace.suspension),
  };
}

export function publicSuspension(suspension: Suspension | null) {
  return (
    suspension && { since: new Date(suspension.sinceMs).toISOString(), reason: suspension.reason }
  );
}
