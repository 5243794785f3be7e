import { lazyRouteComponent } from '@tanstack/react-router';
import { unreachableError } from '../api/problem.ts';

/**
 * A page whose code is loaded on first visit. If its file no longer exists, a new release was
 * deployed and the router reloads the application. While the server is down, a reload would lose
 * the open page and everything typed in it, so an error is shown instead.
 */
export function lazyPage<T extends Record<string, unknown>, K extends keyof T>(
  load: () => Promise<T>,
  name: K,
) {
  return lazyRouteComponent<T, K>(async () => {
    try {
      return await load();
    } catch (error) {
      throw (await isReachable()) ? error : unreachableError();
    }
  }, name);
}

function isReachable(): Promise<boolean> {
  return fetch(import.meta.env.BASE_URL, { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
}
