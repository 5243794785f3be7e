import type { FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Idempotency, IdempotencyRequest } from '../../messages/accept/idempotency.ts';
import type { Operation } from '../operation.ts';

/**
 * Reads the Idempotency-Key of a request. Returns undefined if there is none or it does not
 * apply.
 */
export function readIdempotencyKey(
  idempotency: Pick<Idempotency, 'hashRequest'>,
  spec: Operation['spec'],
  request: FastifyRequest,
): IdempotencyRequest | undefined {
  const key = request.headers['idempotency-key'];
  const namespace = idempotencyNamespace(request);
  if (key === undefined || !namespace) return undefined;
  if (typeof key !== 'string' || !/^[!-~]{1,255}$/.test(key)) {
    const detail = 'Idempotency-Key must be 1 to 255 visible ASCII characters.';
    throw new RefusedError('validation_failed', detail, {
      errors: [{ parameter: 'Idempotency-Key', code: 'invalid_format', detail }],
    });
  }
  const { url } = request;
  const pathEnd = url.indexOf('?');
  const path = pathEnd < 0 ? url : url.slice(0, pathEnd);
  const body = spec.rawBody ? null : (request.body ?? null);
  const { workspaceId, mode } = namespace;
  const actor = REPLAYED_TO_CREATOR.has(spec.scope) ? ` ${request.caller?.actor}` : '';
  const requestHash = idempotency.hashRequest(request.method, path + actor, body);
  return { workspaceId, mode, key, requestHash };
}

/**
 * Stored responses of these operations contain the secret of an API key or the link of an invitation,
 * which may have more rights than another caller. They are replayed only to the actor who created them.
 */
const REPLAYED_TO_CREATOR: ReadonlySet<string> = new Set(['write:api_keys', 'write:members']);

/** Keys of requests without a workspace are stored under the id of the user or the operator key. */
function idempotencyNamespace({
  caller,
  signedIn,
  operator,
}: FastifyRequest): Pick<IdempotencyRequest, 'workspaceId' | 'mode'> | undefined {
  if (caller) return { workspaceId: caller.workspaceId, mode: caller.mode };
  const owner = signedIn?.person.id ?? operator?.keyId;
  return owner === undefined ? undefined : { workspaceId: owner, mode: 'live' };
}
