/**
 * Reads the OpenAPI document for the documentation: operations in order, with references resolved.
 */

export interface ApiSchema {
  $ref?: string;
  type?: string;
  description?: string;
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: readonly ApiSchema[];
  /** A union that a field discriminates. */
  oneOf?: readonly ApiSchema[];
  items?: ApiSchema;
  properties?: Record<string, ApiSchema>;
  required?: readonly string[];
  additionalProperties?: boolean | ApiSchema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  pattern?: string;
}

export interface ApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: ApiSchema;
  example?: unknown;
}

export interface ApiMedia {
  schema: ApiSchema;
  example?: unknown;
  examples?: Record<string, { $ref?: string; summary?: string; value?: unknown }>;
}

export interface ApiResponse {
  $ref?: string;
  description: string;
  headers?: Record<string, { $ref?: string; description?: string }>;
  content?: Record<string, ApiMedia>;
}

export interface ApiOperation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  security?: readonly unknown[];
  parameters?: readonly ApiParameter[];
  requestBody?: { required?: boolean; content: Record<string, ApiMedia> };
  responses: Record<string, ApiResponse>;
}

export interface ApiDocument {
  info: { title: string; version: string; summary?: string; description?: string };
  servers: readonly { url: string }[];
  tags: readonly { name: string; description?: string }[];
  paths: Record<string, Record<string, ApiOperation>>;
  webhooks?: Record<string, Record<string, ApiOperation>>;
  components: { schemas: Record<string, ApiSchema>; responses?: Record<string, ApiResponse> };
}

export interface DocumentedOperation {
  method: string;
  path: string;
  operation: ApiOperation;
}

/** The operations that a page begins with; the others keep the order of the document. */
const FIRST = ['sendTransactional', 'sendBatch', 'sendBulk', 'listMessages', 'getMessage'];

function rank({ operation }: DocumentedOperation): number {
  const at = FIRST.indexOf(operation.operationId);
  return at < 0 ? FIRST.length : at;
}

export class DocumentReader {
  readonly document: ApiDocument;
  readonly baseUrl: string;

  constructor(document: ApiDocument) {
    this.document = document;
    this.baseUrl = document.servers[0]?.url ?? '';
  }

  /** Returns the tags that have operations, the most used ones first. */
  groups(): { name: string; description: string; operations: DocumentedOperation[] }[] {
    const all = this.operations();
    return this.document.tags
      .map(({ name, description = '' }) => ({
        name,
        description,
        operations: all
          .filter(({ operation }) => operation.tags[0] === name)
          .sort((a, b) => rank(a) - rank(b)),
      }))
      .filter(({ operations }) => operations.length > 0);
  }

  operations(): DocumentedOperation[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );
  }

  events(): { type: string; operation: ApiOperation }[] {
    return Object.entries(this.document.webhooks ?? {}).flatMap(([type, methods]) =>
      Object.values(methods).map((operation) => ({ type, operation })),
    );
  }

  schema(schema: ApiSchema): { name: string | undefined; schema: ApiSchema } {
    const name = schema.$ref?.split('/').at(-1);
    if (name === undefined) return { name, schema };
    return { name, schema: this.document.components.schemas[name] ?? {} };
  }

  response(response: ApiResponse): ApiResponse {
    const name = response.$ref?.split('/').at(-1);
    if (name === undefined) return response;
    return this.document.components.responses?.[name] ?? response;
  }

  /** Returns the problem codes of an operation by status. */
  problems({ responses }: ApiOperation): { status: string; codes: string[] }[] {
    return Object.entries(responses).flatMap(([status, response]) => {
      const media = this.response(response).content?.['application/problem+json'];
      return media ? [{ status, codes: Object.keys(media.examples ?? {}) }] : [];
    });
  }
}
