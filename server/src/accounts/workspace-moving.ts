import { RefusedError } from '../lib/refused-error.ts';

/**
 * The workspace of an API key is on its way to another installation. Its key works again in a moment, here
 * or there, so this is not a 401.
 */
export class WorkspaceMovingError extends RefusedError {
  constructor() {
    super(
      'storage_unavailable',
      'The workspace is being moved to another server. Nothing was accepted.',
      { retryAfterSeconds: 2 },
    );
  }
}
