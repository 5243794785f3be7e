import type { Scope } from './scopes.ts';
import type { Mode } from './tenant-scope.ts';

/** The authenticated caller of a request. Authentication creates it, and every module trusts it. */
export interface Caller {
  workspaceId: string;
  mode: Mode;
  scopes: ReadonlySet<Scope>;
  /** Sender domains the caller is limited to; empty for all domains of the workspace. */
  allowedDomains: readonly string[];
  /** Streams the caller is limited to, the default first; empty for all streams. */
  allowedStreams?: readonly string[];
  /** Networks an API key is limited to; empty for no limit. */
  allowedIps?: readonly string[];
  /** For the audit trail: the id of the key or of the person. */
  actor: string;
  /** The API key's uuid; undefined for a person's session. */
  keyId: string | undefined;
  /** When the key or the session expires, as far as known now. */
  endsAtMs?: number;
}

/**
 * Whether a test key is calling. Signed-in users only choose a mode to view; their permissions do
 * not depend on it.
 */
export function isTestKey({ mode, keyId }: Pick<Caller, 'mode' | 'keyId'>): boolean {
  return mode === 'test' && keyId !== undefined;
}
