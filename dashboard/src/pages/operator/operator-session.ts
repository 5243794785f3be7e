import createClient from 'openapi-fetch';
import type { paths } from '../../../dist/types/api.d.ts';
import type { Api } from '../../api/client.ts';
import { createStore, useStore } from '../../lib/store.ts';

/**
 * The operator key of this tab. It is kept until the tab is closed, and never with the user's session:
 * what manages all workspaces must not follow from signing in to one.
 */

const STORAGE_KEY = 'postrider-operator-key';

const stored = createStore<string | null>(sessionStorage.getItem(STORAGE_KEY));

export function setOperatorKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(STORAGE_KEY);
  else sessionStorage.setItem(STORAGE_KEY, key);
  stored.set(key);
}

export function useOperatorKey(): string | null {
  return useStore(stored);
}

export function operatorApi(key: string): Api {
  return createClient<paths>({
    baseUrl: '/',
    credentials: 'omit',
    headers: { Authorization: `Bearer ${key}` },
  });
}

/** The API with the key of this tab. Only for pages inside the operator layout, which requires one. */
export function useOperatorApi(): Api {
  return operatorApi(useOperatorKey() ?? '');
}
