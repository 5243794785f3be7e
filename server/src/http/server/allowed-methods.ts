import type { ApiSurface } from './api-surface.ts';

type Spec = ApiSurface['operations'][number]['spec'];

/**
 * The methods that the paths of the API accept, for 405 responses. Requests that no route takes are
 * looked up here: routes for all wrong methods of all paths would be most of the router, and of the
 * time that the server takes to start.
 */
export class AllowedMethods {
  readonly #paths = new Map<string, AllowedPath>();
  /** Only paths of the same length can match. */
  readonly #byLength = new Map<number, AllowedPath[]>();

  constructor(surfaces: readonly ApiSurface[]) {
    for (const surface of surfaces) {
      for (const { spec } of surface.operations) this.#add(routeOf(surface, spec), spec);
    }
  }

  #add(route: string, spec: Spec): void {
    const path = this.#paths.get(route) ?? this.#newPath(route);
    path.methods.push(spec.method);
    if (supportsHead(spec)) path.methods.push('HEAD');
  }

  #newPath(route: string): AllowedPath {
    const path: AllowedPath = { route, segments: route.split('/'), methods: [] };
    this.#paths.set(route, path);
    const sameLength = this.#byLength.get(path.segments.length) ?? [];
    this.#byLength.set(path.segments.length, [...sameLength, path]);
    return path;
  }

  /** The methods of the path that a URL names, or undefined if it names none. */
  of(url: string): readonly string[] | undefined {
    const [path = ''] = url.split(/[?#]/, 1);
    const matches = this.#matches(decodeURI(path));
    return matches.toSorted((a, b) => parameters(a) - parameters(b))[0]?.methods;
  }

  /**
   * Wrong methods that the router would pass to another path: PATCH on `/messages/export` would be a
   * change of the message `export`. They need routes of their own.
   */
  shadowed(): { route: string; methods: string[]; allowed: readonly string[] }[] {
    return [...this.#paths.values()].flatMap(({ route, methods: allowed }) => {
      const others = this.#matches(route).flatMap(({ methods }) => methods);
      const methods = [...new Set(others)].filter((method) => !allowed.includes(method));
      return methods.length > 0 ? [{ route, methods, allowed }] : [];
    });
  }

  #matches(path: string): AllowedPath[] {
    const given = path.split('/');
    const sameLength = this.#byLength.get(given.length) ?? [];
    return sameLength.filter(({ segments }) =>
      segments.every((segment, at) =>
        segment.startsWith(':') ? given[at] !== '' : segment === given[at],
      ),
    );
  }
}

interface AllowedPath {
  route: string;
  segments: string[];
  methods: string[];
}

/** The path of an operation as the router writes it. */
export function routeOf({ prefix }: ApiSurface, { path }: Spec): string {
  return prefix + path.replaceAll(/\{(\w+)\}/g, ':$1');
}

export function supportsHead({ method, consumesOnRead }: Spec): boolean {
  return method === 'GET' && !consumesOnRead;
}

function parameters({ segments }: AllowedPath): number {
  return segments.filter((segment) => segment.startsWith(':')).length;
}
