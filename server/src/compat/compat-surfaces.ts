import { documentResponder } from '../http/openapi/document-response.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { ApiSurface } from '../http/server/api-surface.ts';
import { type CompatDocumentOptions, compatDocument } from './compat-document.ts';
import { type CompatDependencies, type CompatProvider, prefixOf } from './compat-provider.ts';
import { notOfferedReason } from './not-offered.ts';
import { PROVIDERS } from './providers.ts';

/** The APIs of other providers, each with a document of its own so that ours stays small. */
export function compatSurfaces(
  deps: CompatDependencies,
  options: CompatDocumentOptions,
): ApiSurface[] {
  const { authenticator, clock } = deps;
  return PROVIDERS.flatMap((provider) => {
    const { beforeSignedBody } = provider;
    const operations = provider.operations(deps);
    const document = (): object => compatDocument(provider, operations, options);
    const surface: ApiSurface = {
      prefix: prefixOf(provider),
      operations: [...operations, documentOperation(provider, document)],
      authenticate: (request) => provider.authenticate(request, authenticator, clock),
      beforeSignedBody:
        beforeSignedBody && ((request) => beforeSignedBody(request, authenticator, clock)),
      acceptsSessions: false,
      waitsAtRateLimit: true,
      renderProblem: provider.renderProblem,
      notOffered: (method, url) => notOfferedReason(provider, deps.baseUrl, method, url),
    };
    const { rootPaths = [] } = provider;
    return [surface, ...rootPaths.map((path) => ({ ...surface, ...below(path, operations) }))];
  }).toSorted((a, b) => b.prefix.length - a.prefix.length);
}

/** The operations with this path, and those below it. */
function below(
  prefix: string,
  operations: readonly Operation[],
): Pick<ApiSurface, 'prefix' | 'operations'> {
  return {
    prefix,
    operations: operations
      .filter(({ spec }) => spec.path === prefix || spec.path.startsWith(`${prefix}/`))
      .map(({ spec, ...rest }) => ({
        ...rest,
        spec: { ...spec, path: spec.path.slice(prefix.length) },
      })),
  };
}

function documentOperation({ name, title }: CompatProvider, document: () => object): Operation {
  const respond = documentResponder(
    () => JSON.stringify(document()),
    'application/json; charset=utf-8',
  );
  return operation(
    {
      id: `${name}OpenapiDocument`,
      method: 'GET',
      path: '/openapi.json',
      tag: 'Service',
      summary: `Retrieve the OpenAPI document of the ${title} API`,
      scope: 'public',
      responses: { 200: { description: 'The document.' } },
    },
    (request) => respond((name) => request.header(name)),
  );
}
