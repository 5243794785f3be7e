import type { Mode } from '../../accounts/tenant-scope.ts';

/** Identifies an endpoint, which is a queue. */
export interface EndpointKey {
  workspaceId: string;
  mode: Mode;
  webhookId: string;
}

export function endpointId({ workspaceId, mode, webhookId }: EndpointKey): string {
  return `${workspaceId}/${mode}/${webhookId}`;
}
