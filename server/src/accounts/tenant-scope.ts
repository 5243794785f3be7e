/** Live mail is delivered to recipients. Test mail takes the same path but ends in the test inbox. */
export type Mode = 'live' | 'test';

/** The data of one workspace in one mode. Every statement on tenant data is restricted to it. */
export interface TenantScope {
  workspaceId: string;
  mode: Mode;
}
