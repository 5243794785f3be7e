import type { publicApiKey } from '../../accounts/api-keys.ts';
import { type Piece, paint, styled } from '../terminal.ts';
import type { ApiTarget } from './choose-target.ts';

/** The key that calls the API, as the server knows it. */
export type CurrentKey = ReturnType<typeof publicApiKey> & {
  workspace: { id: string; name: string };
};

export function currentKey({ client }: ApiTarget): Promise<CurrentKey> {
  return client.request<CurrentKey>('GET', '/api-keys/current');
}

export function describeKey(key: CurrentKey): Piece[] {
  const { name, id, mode, workspace, scopes, expires_at } = key;
  return [
    `Workspace: ${workspace.name} (${workspace.id})`,
    styled`Key: ${name} (${id}), ${paint(mode === 'live' ? 'green' : 'yellow', mode)}`,
    `Scopes: ${scopes.join(', ')}`,
    ...(expires_at === null ? [] : [`Expires: ${expires_at}`]),
  ];
}
