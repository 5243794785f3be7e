import { lazyRouteComponent } from '@tanstack/react-router';
import { unreachableError } from '../api/problem.ts';

/**
 * A page that is fetched when somebody goes there. One that is not there any more belongs to a
 * release that was replaced, and the router loads the application anew. While the server is away
 * that would trade the application, and what is written in it, for an empty window of the browser.
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
