import { encodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { MovedWorkspace } from './moved-workspace-store.ts';

/** The workspace has moved to another installation, where the same keys and accounts are valid. */
export class WorkspaceMovedError extends RefusedError {
  constructor({ name, url }: MovedWorkspace) {
    super(
      'workspace_moved',
      url === null
        ? `Workspace "${name}" has moved to another server.`
        : `Workspace "${name}" has moved to ${url}.`,
      url === null ? {} : { fix: `Use ${url} instead. API keys stay the same.`, movedTo: url },
    );
  }
}

export function publicMovedWorkspace({ id, name, url, movedAtMs }: MovedWorkspace) {
  return { id: encodeId('wsp', id), name, url, moved_at: new Date(movedAtMs).toISOString() };
}
