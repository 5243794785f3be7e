import { limitOf } from '../../accounts/people/session-store.ts';
import { decodeId, encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { AuditLog, Change } from '../../logs/audit-log.ts';
import { SERVER_LOG } from '../../logs/audit-store.ts';
import { withoutSecrets } from '../../logs/redact-request.ts';
import type { AnyRequest, Operation, OperationResponse } from '../operation.ts';

/**
 * Records every change that an operation made in the audit log. This is the only place: an operation
 * is recorded by what it is (its id, path and body), unless its spec says why not.
 */

type Spec = Operation['spec'];

export function isAudited({ method, notAudited, audited }: Spec): boolean {
  return audited === true || (method !== 'GET' && notAudited === undefined);
}

/** What of the audit log is used here. */
export type ChangeRecorder = Pick<AuditLog, 'begin' | 'withdraw' | 'record'>;

export async function handleAudited(
  auditLog: ChangeRecorder,
  operation: Operation,
  request: AnyRequest,
): Promise<OperationResponse> {
  const intended = changeOf(operation.spec, request, undefined);
  const intentId = intended && (await auditLog.begin(intended));
  let response: OperationResponse;
  try {
    response = await operation.handle(request);
  } catch (error) {
    // Only a refusal says that nothing has changed; a commit may have failed after it was applied.
    if (error instanceof RefusedError && intentId) await auditLog.withdraw(intentId);
    throw error;
  }
  const change = changeOf(operation.spec, request, response.body);
  if (!change) return response;
  await Promise.all([
    auditLog.record(change, intentId),
    ...copiesOf(operation.spec, change).map((one) => auditLog.record(one)),
  ]);
  return response;
}

/**
 * What the operator does to a workspace is in the log of the server, which outlives the workspace, and in
 * the log of the workspace, without where it came from.
 */
function copiesOf({ scope }: Spec, change: Change): Change[] {
  if (scope !== 'operator' || change.target === null) return [];
  const workspaceId = decodeId('wsp', change.target);
  return workspaceId === undefined ? [] : [{ ...change, where: { workspaceId }, client: null }];
}

/**
 * Undefined if there is no actor, as before a sign-in, and after the first of two factors. The body is
 * that of the response, if there is one yet.
 */
function changeOf(spec: Spec, request: AnyRequest, body: unknown): Change | undefined {
  const result = (typeof body === 'object' && body !== null ? body : {}) as Result;
  const params = (request.params ?? {}) as Record<string, string>;
  const { caller, signedIn, operator, client, requestId } = request;
  const accountId = signedIn?.person.id ?? request.accountId;
  const actor =
    operator?.actor ??
    caller?.actor ??
    result.me?.id ??
    (accountId && encodeId('usr', accountId)) ??
    undefined;
  if (actor === undefined) return undefined;
  const target = params.id ?? params.key ?? result.id ?? result.key ?? null;
  return {
    where: whereOf(spec, request, target, actor),
    mode: caller?.mode ?? null,
    action: spec.id,
    actor,
    target: typeof target === 'string' && !target.includes('@') ? target : null,
    client: { ip: client.ip, userAgent: client.userAgent, requestId },
    details: detailsOf(spec, request),
  };
}

interface Result {
  id?: unknown;
  key?: unknown;
  /** The account, in responses to a sign-in. */
  me?: { id: string } | null;
}

function whereOf(
  spec: Spec,
  { caller, signedIn }: AnyRequest,
  target: unknown,
  actor: string,
): Change['where'] {
  if (spec.scope === 'operator' || spec.auditedIn === 'server') return { workspaceId: SERVER_LOG };
  if (caller && spec.scope !== 'person') return { workspaceId: caller.workspaceId };
  const workspaceId = typeof target === 'string' ? decodeId('wsp', target) : undefined;
  if (workspaceId !== undefined) return { workspaceId };
  // A session of the workspace's identity provider does not concern the member's other workspaces.
  const limitedTo = signedIn ? limitOf(signedIn.session) : null;
  if (limitedTo !== null) return { workspaceId: limitedTo };
  return { memberId: decodeId('usr', actor) as string };
}

/** What these operations take is personal, or is kept elsewhere: only the names of fields are kept. */
const NAMES_ONLY: ReadonlySet<Spec['tag']> = new Set([
  'Account',
  'Contacts',
  'Sign-in',
  'Suppressions',
]);

function detailsOf({ tag, rawBody }: Spec, { body, query }: AnyRequest): object {
  const shown = (value: unknown): object | undefined => {
    if (value === null || typeof value !== 'object' || Object.keys(value).length === 0) return;
    if (!NAMES_ONLY.has(tag)) return withoutSecrets(value);
    return Object.fromEntries(Object.keys(value).map((name) => [name, NOT_KEPT]));
  };
  const fields = rawBody ? undefined : shown(body);
  const parameters = shown(query);
  return {
    ...(fields ? { body: fields } : {}),
    ...(parameters ? { query: parameters } : {}),
  };
}

const NOT_KEPT = '[not kept]';
