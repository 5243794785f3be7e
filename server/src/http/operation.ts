import type { Static, TSchema } from 'typebox';
import type { Caller } from '../accounts/caller.ts';
import type { SignedInPerson } from '../accounts/people/sessions.ts';
import type { TeamRight } from '../accounts/roles.ts';
import type { Scope } from '../accounts/scopes.ts';
import type { IdempotencyRequest } from '../messages/accept/idempotency.ts';
import type { ProblemCode } from './problems/problem-types.ts';
import type { ClientInfo } from './server/client-info.ts';
import type { QueryParser, SemanticChecks } from './validation/schema-validator.ts';

/**
 * One operation of the API: its path, its rules, its documentation and its work in one value. The
 * server validates, authorises and answers from it; the OpenAPI document is generated from it.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface OperationSpec<P extends TSchema, Q extends TSchema, B extends TSchema> {
  /** operationId; the file is named like it. */
  id: string;
  method: Method;
  /** Below /api/v1, with {parameters}. */
  path: string;
  tag: Tag;
  summary: string;
  description?: string;
  /**
   * 'public': no key needed. 'any': any valid key, or a session. 'person': a session, whatever the
   * workspace. A right over the team is a session's alone.
   */
  scope: Scope | TeamRight | 'public' | 'any' | 'person';
  /** Public, and about the session's cookie: no other site may have it called. */
  csrfProtected?: true;
  params?: P;
  query?: Q;
  /** What refuses parameters beyond their shape. All are asked, so that all faults come at once. */
  queryParsers?: readonly QueryParser[];
  body?: B;
  /** What the door checks of the body, where the operation itself looks at the rest. */
  validatedBody?: TSchema;
  /** For a body whose shape is wrong: what is wrong with it besides. */
  semanticChecks?: SemanticChecks;
  /** Named examples of the body. */
  examples?: Record<string, { summary: string; value: unknown }>;
  /** A body that is not JSON, by media type; the handler reads the stream. */
  rawBody?: string[];
  responses: Record<number, ResponseSpec>;
  /** Refusals beyond those that the rules above imply. */
  problems?: readonly ProblemCode[];
  /** Done only while the draft is as the client saw it, where the client says so by If-Match. */
  supportsIfMatch?: true;
  /** Where what the answer shows is found: told in `Location`, also when the answer is repeated. */
  location?: (body: never) => string;
  /** The work commits the Idempotency-Key itself, together with what it stores. */
  handlesIdempotency?: boolean;
  /** A GET that gives each thing once: a HEAD, which would take it and show nothing, is refused. */
  consumesOnRead?: true;
  testKeysOnly?: boolean;
}

export interface ResponseSpec {
  description: string;
  body?: TSchema;
  mediaType?: string;
  /** What else the body can come as, when the request says so, with an example of each. */
  alternateTypes?: Record<string, { example: unknown }>;
  headers?: Record<string, { description: string; schema: TSchema }>;
  example?: unknown;
}

export const TAGS = {
  Sending: 'Send messages, one or many.',
  Messages: 'Find messages, see what became of them, change what has not left yet.',
  'Test inbox': 'Where test mail arrives: read it, or wait for it in an end-to-end test.',
  Templates: 'Stored content: templates, layouts and partials, with drafts and versions.',
  Contacts: 'People you write to, and what placeholders know of them.',
  Domains: 'Domains you send from, and the DNS records that prove it.',
  Suppressions: 'Addresses that must not be written to.',
  Webhooks: 'Have events sent to you.',
  Events: 'The ledger of all that happened.',
  'API keys': 'Make, limit, rotate and revoke keys.',
  'Sign-in': 'For the application: the first account, sessions, forgotten passwords.',
  Account: 'A person’s own things: profile, password, second factor, sessions, workspaces.',
  Team: 'Who belongs to a workspace, and as what.',
  Service: 'The service itself: limits and this document.',
} as const;

export type Tag = keyof typeof TAGS;

export interface OperationRequest<P, Q, B> {
  /** Present wherever a workspace is meant: not in operations that are public or a person's. */
  caller: Caller;
  /** Present when a person asks, with a session. */
  signedIn: SignedInPerson;
  client: ClientInfo;
  requestId: string;
  params: P;
  query: Q;
  body: B;
  /** Present when the client sent an Idempotency-Key. */
  idempotency: IdempotencyRequest | undefined;
  /** For an operation with rawBody, once it has read it: whoever lost the right meanwhile is refused. */
  reauthorize(): Promise<void>;
  /** The unread body of an operation with rawBody. */
  stream: AsyncIterable<Buffer> | undefined;
  contentType: string;
  /** The states in which the client wants it done, where it named any. */
  ifMatch: readonly string[] | undefined;
  /** Where a stream of events is taken up again. */
  lastEventId: string | undefined;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}

export interface OperationResponse {
  status: number;
  /** An object becomes JSON; text and bytes go out as they are; a stream flows. */
  body?: unknown;
  headers?: Record<string, string | string[]>;
  mediaType?: string;
}

export interface Operation<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
> {
  spec: OperationSpec<P, Q, B>;
  handle(
    request: OperationRequest<unknown, unknown, unknown>,
  ): Promise<OperationResponse> | OperationResponse;
}

/** Joins rules and work, so that the handler's types follow from the schemas. */
export function operation<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(
  spec: OperationSpec<P, Q, B>,
  handle: (
    request: OperationRequest<Static<P>, Static<Q>, Static<B>>,
  ) => Promise<OperationResponse> | OperationResponse,
): Operation {
  return { rules: spec, handle } as unknown as Operation;
}
