import type { TestApp } from '../app.ts';

/** The operations of the OpenAPI document as a flat list. */
export interface DocumentedOperation {
  id: string;
  method: string;
  /** With {parameters}. */
  path: string;
  isPublic: boolean;
  /** Accepts sessions, but no API keys. */
  sessionOnly: boolean;
  /** The required scope; undefined for public operations. */
  scope: string | undefined;
  /** The only mode whose keys may call it; undefined for both. */
  mode: string | undefined;
  takesBody: boolean;
  needsBody: boolean;
  bodyTypes: string[];
  /** The example body of the document; undefined if the operation has none. */
  exampleBody: unknown;
  /** Problem codes by status. */
  problems: Map<number, string[]>;
  statuses: number[];
}

export async function documentedOperations(app: TestApp): Promise<DocumentedOperation[]> {
  const response = await fetch(`${app.url}/api/v1/openapi.json`);
  return operationsOf(await response.json());
}

interface Media {
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

interface Response {
  $ref?: string;
  content?: Record<string, Media>;
}

interface Described {
  operationId: string;
  security?: object[];
  'x-scope'?: string;
  'x-mode'?: string;
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, Response>;
}

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { responses: Record<string, Response> };
}

export function operationsOf(document: unknown): DocumentedOperation[] {
  const { paths, components } = document as Document;
  const resolved = (response: Response): Response =>
    response.$ref ? (components.responses[response.$ref.split('/').at(-1) ?? ''] ?? {}) : response;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      isPublic: described.security?.length === 0,
      sessionOnly: described.security?.some((one) => 'session' in one) ?? false,
      scope: described['x-scope'],
      mode: described['x-mode'],
      takesBody: described.requestBody !== undefined,
      needsBody: described.requestBody?.required ?? false,
      bodyTypes: Object.keys(described.requestBody?.content ?? {}),
      exampleBody: exampleOf(described.requestBody?.content['application/json']),
      statuses: Object.keys(described.responses).map(Number),
      problems: new Map(
        Object.entries(described.responses).flatMap(([status, response]) => {
          const media = resolved(response).content?.['application/problem+json'];
          return media?.examples ? [[Number(status), Object.keys(media.examples)] as const] : [];
        }),
      ),
    })),
  );
}

function exampleOf(media: Media | undefined): unknown {
  if (!media) return undefined;
  return media.example ?? Object.values(media.examples ?? {})[0]?.value;
}

/** Fills in the path parameters. */
export function fillPath(path: string, value: string | ((name: string) => string)): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(typeof value === 'string' ? value : value(name)),
  );
}
