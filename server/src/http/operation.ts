import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TSchema } from 'typebox';
import type { Caller } from '../accounts/caller.ts';
import type { OperatorCaller } from '../accounts/operator-keys.ts';
import type { SignedInPerson } from '../accounts/people/sessions.ts';
import type { TeamRight } from '../accounts/roles.ts';
import type { Scope } from '../accounts/scopes.ts';
import type { Mode } from '../accounts/tenant-scope.ts';
import type { IdempotencyRequest } from '../messages/accept/idempotency.ts';
import type { ProblemCode } from './problems/problem-types.ts';
import type { ClientInfo } from './server/client-info.ts';
import type { QueryParser, SemanticChecks } from './validation/schema-validator.ts';

/**
 * One operation of the API: its path, rules, documentation and handler in one value. The server
 * validates, authorizes and responds according to it, and the OpenAPI document is generated from
 * it.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface OperationSpec<P extends TSchema, Q extends TSchema, B extends TSchema> {
  /** The operationId; also the name of the exported function. */
  id: string;
  method: Method;
  /** The path below /api/v1, with {parameters}. */
  path: string;
  tag: Tag;
  summary: string;
  description?: string;
  /**
   * 'public': no authentication. 'any': any API key or session. 'person': a session, without a
   * workspace. Team rights require a session too. 'operator': an operator key, and nothing else.
   */
  scope: Scope | TeamRight | 'public' | 'any' | 'person' | 'operator';
  /**
   * For public operations that use the session cookie: requests from other sites are rejected.
   */
  csrfProtected?: true;
  /**
   * For operations of scope 'person': a session that is limited to one workspace may call it, and sees
   * only that workspace. Otherwise such a session may only call operations on its workspace.
   */
  limitedSessions?: true;
  /**
   * Selects requests that the operation answers without authentication, such as those with a token that
   * everyone knows. They are limited by client network, their body is small, and the handler gets no
   * caller. They must not change anything.
   */
  isAnonymous?(headers: IncomingHttpHeaders): boolean;
  params?: P;
  query?: Q;
  /**
   * Parsers that check parameters beyond their schema. All run, so that all errors are reported at
   * once.
   */
  queryParsers?: readonly QueryParser[];
  body?: B;
  /**
   * The schema that the server checks the body against, if the handler validates the rest itself.
   */
  validatedBody?: TSchema;
  /**
   * Further checks for a body that failed its schema, so that all errors are reported at once.
   */
  semanticChecks?: SemanticChecks;
  /**
   * Why a call is not recorded in the audit log, for operations that are no GET: it sends a message,
   * which is the record; it changes nothing; or it has no actor.
   */
  notAudited?: 'sends' | 'changes nothing' | 'no actor';
  /** Recorded in the audit log although it is a GET. */
  audited?: true;
  /** For operations of scope 'person' that change the server: recorded in its audit log. */
  auditedIn?: 'server';
  /** Named examples of the body. */
  examples?: Record<string, { summary: string; value: unknown }>;
  /** Media types of a body that is not JSON; the handler reads the stream. */
  rawBody?: string[];
  /** The body may also be a form. Fields are text, files are objects: see server/form-body.ts. */
  acceptsForms?: true;
  responses: Record<number, ResponseSpec>;
  /** Problem codes beyond those that the spec implies. */
  problems?: readonly ProblemCode[];
  /** The client may require the draft to be unchanged by sending If-Match. */
  supportsIfMatch?: true;
  /** Returns the URL for the `Location` header, also for replayed responses. */
  location?: (body: never) => string;
  /** The handler commits the Idempotency-Key itself, in the transaction that stores its data. */
  handlesIdempotency?: boolean;
  /**
   * A GET that returns each item only once. HEAD is rejected, because it would consume an item
   * without returning it.
   */
  consumesOnRead?: true;
  /**
   * The only mode whose keys may call the operation: 'live' if it changes what live mail uses, 'test'
   * for the test inbox. Test mode is required of sessions too. Live mode is not, because signed-in
   * users only choose a mode to view; their permissions do not depend on it.
   */
  mode?: Mode;
}

export interface ResponseSpec {
  description: string;
  body?: TSchema;
  mediaType?: string;
  /** Other media types of the body, selected by the request, each with an example. */
  alternateTypes?: Record<string, { example: unknown }>;
  headers?: Record<string, { description: string; schema: TSchema }>;
  example?: unknown;
}

export const TAGS = {
  Sending: 'Send one message or a batch.',
  Messages:
    'Search messages, follow their delivery, and change messages that have not been sent yet.',
  'Inbound messages': 'Mail that arrives at your receiving domains.',
  'Test inbox': 'Receives test mail: read it, or wait for it in an end-to-end test.',
  Templates: 'Stored content: templates, layouts and partials, with drafts and versions.',
  Contacts: 'Recipients and the attributes that placeholders can use.',
  Domains: 'Sending domains and the DNS records that verify them.',
  Streams: 'Kinds of mail, such as receipts and a digest, which recipients can leave separately.',
  Suppressions: 'Addresses and domains that are not sent to, in all streams or in one.',
  Webhooks: 'Receive events at your own endpoints.',
  Events: 'The log of everything that happened.',
  Logs: 'Find API requests and why one failed, and who changed what.',
  'API keys': 'Create, restrict, rotate and revoke API keys.',
  'Sign-in':
    'For the dashboard: the first account, sessions, password resets and undone email changes.',
  Account:
    'The signed-in user: profile, email address, password, second factor, sessions and workspaces.',
  Team: 'Members of a workspace, their roles, and their identity provider.',
  Operator: 'For platforms: manage workspaces with an operator key, which no workspace can have.',
  Service: 'The service itself: limits, SMTP settings and this document.',
} as const;

export type Tag = keyof typeof TAGS;

export interface OperationRequest<P, Q, B> {
  /**
   * Present for operations on a workspace, but not for public operations, anonymous requests or
   * operations of scope 'person' or 'operator'.
   */
  caller: Caller;
  /** Present for operations of scope 'operator'. */
  operator: OperatorCaller;
  /** Present if the request has a session. */
  signedIn: SignedInPerson;
  client: ClientInfo;
  requestId: string;
  params: P;
  query: Q;
  body: B;
  /** Present when the client sent an Idempotency-Key. */
  idempotency: IdempotencyRequest | undefined;
  /**
   * For operations with rawBody: repeats the authorization after the body was read, because the
   * right may have been revoked in the meantime.
   */
  reauthorize(): Promise<void>;
  /** The unread body of an operation with rawBody. */
  stream: AsyncIterable<Buffer> | undefined;
  contentType: string;
  /** The entity tags of If-Match, if any. */
  ifMatch: readonly string[] | undefined;
  /** Last-Event-ID: where to resume an event stream. */
  lastEventId: string | undefined;
  /** Another header of the request, or undefined. */
  header(name: string): string | undefined;
  /** For public operations: the UUID of the account that it turned out to be about. */
  accountId: string | undefined;
  /** How many operations of our API its operation has called. */
  innerCalls: number;
  /** Links the request log to the message that was sent, by its public id. */
  recordMessage(id: string): void;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

export type AnyRequest = OperationRequest<unknown, unknown, unknown>;

export interface OperationResponse {
  status: number;
  /** Objects are sent as JSON; text, bytes and streams are sent unchanged. */
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

/** Combines spec and handler, so that the handler's types follow from the schemas. */
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
  return { spec, handle } as unknown as Operation;
}
