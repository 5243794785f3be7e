import type { Scope } from './scopes.ts';
import type { Mode } from './tenant-scope.ts';

/** Who asks: the one value that authentication leaves behind and every room trusts. */
export interface Caller {
  workspaceId: string;
  mode: Mode;
  scopes: ReadonlySet<Scope>;
  /** Sender domains the caller is limited to; empty: all of the workspace's. */
  allowedDomains: readonly string[];
  /** Networks a key is limited to; none: it may be used from everywhere. */
  allowedIps?: readonly string[];
  /** For records of who did it: the id of the key, or of the person. */
  actor: string;
  /** The API key's uuid; undefined for a person's session. */
  keyId: string | undefined;
  /** When the key or the session ends by itself, as far as is known now. */
  endsAtMs?: number;
}
