import { type Operation, TAGS } from './operation.ts';
import { ROUTES } from './routes/routes.generated.ts';

type Route = (typeof ROUTES)[number];

/** Distributes over the routes and intersects their parameters; a route may need none. */
type DependenciesOf<R> = (
  R extends () => unknown
    ? never
    : R extends (deps: infer D) => unknown
      ? (deps: D) => void
      : never
) extends (deps: infer All) => void
  ? All
  : never;

/** Everything that the routes work with: the intersection of what each route names. */
export type RouteDependencies = DependenciesOf<Route>;

/** All operations of the API, in the order in which the reference shows them. */
export function createOperations(deps: RouteDependencies): Operation[] {
  const operations = ROUTES.flatMap((route): Operation | Operation[] => route(deps));
  return inReferenceOrder(operations);
}

const TAG_ORDER: readonly string[] = Object.keys(TAGS);
const METHOD_ORDER = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Sorts by tag, then by collection (the first path segment, largest collection first), then from
 * short paths to long ones, so that a new route finds its position without being listed anywhere.
 */
function inReferenceOrder(operations: readonly Operation[]): Operation[] {
  const collections = Map.groupBy(operations, collectionOf);
  const rank = (operation: Operation): (number | string)[] => {
    const { tag, path, method } = operation.spec;
    const collection = collectionOf(operation);
    return [
      TAG_ORDER.indexOf(tag),
      -(collections.get(collection)?.length ?? 0),
      collection,
      path.split('/').length,
      path.length,
      path,
      METHOD_ORDER.indexOf(method),
    ];
  };
  return operations
    .map((operation) => ({ operation, rank: rank(operation) }))
    .sort((a, b) => compare(a.rank, b.rank))
    .map(({ operation }) => operation);
}

function collectionOf({ spec }: Operation): string {
  return `${spec.tag} ${spec.path.split('/')[1]}`;
}

function compare(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] as typeof left;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}
