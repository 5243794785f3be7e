import { encodeId } from '../lib/ids.ts';

/** A tenant. */
export interface Workspace {
  id: string;
  name: string;
  createdAtMs: number;
  suspension: Suspension | null;
  deletion: Deletion | null;
}

/** The workspace is scheduled for deletion: live mail is held, and owners can restore it. */
export interface Deletion {
  requestedAtMs: number;
  /** When the purge starts. */
  deleteAtMs: number;
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
    deletion: publicDeletion(workspace.deletion),
  };
}

export function publicSuspension(suspension: Suspension | null) {
  return (
    suspension && { since: new Date(suspension.sinceMs).toISOString(), reason: suspension.reason }
  );
}

export function publicDeletion(deletion: Deletion | null) {
  return (
    deletion && {
      requested_at: new Date(deletion.requestedAtMs).toISOString(),
      delete_at: new Date(deletion.deleteAtMs).toISOString(),
    }
  );
}
