import { hash } from 'node:crypto';
import type { AnyRequest, OperationInput } from '../../http/server/call-operation.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import type { AddressInput } from '../address-list.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { SizeBudget } from '../size-budget.ts';
import { MESSAGE_ID_FIELD, type Outgoing, type SendBody } from './message-form.ts';
import { type RecipientVariables, substituteFor } from './recipient-variables.ts';

/**
 * Sends a message to all of its recipients, or in a batch to each of them. Returns the Message-ID as
 * Mailgun returns it, without angle brackets: one for a whole batch.
 */

/** Limits the memory that the content of a batch takes, which is copied for each recipient. */
const PART_BYTES_MAX = 8 * 1024 * 1024;
/** Besides its content, for each message. */
const MESSAGE_BYTES = 1024;

interface Origin {
  domain: string;
  /** The whole request. */
  form: object;
}

export async function sendOutgoing(
  deps: CompatDependencies,
  request: AnyRequest,
  outgoing: Outgoing,
  origin: Origin,
): Promise<string> {
  const { to, variables, isTest, messageId } = outgoing;
  // Test keys never deliver. With a live key, a test makes all checks and stores nothing.
  const isDryRun = isTest && request.caller.mode === 'live';
  if (variables && (to.length > 1 || isDryRun)) {
    return await sendToEach(deps, request, outgoing, variables, origin, isDryRun);
  }
  const [first] = to as [AddressInput];
  const substitute = variables
    ? substituteFor(first, variables, valuesBudget(deps))
    : (text: string) => text;
  const body = outgoing.bodyFor(to, substitute);
  if (isDryRun) {
    await deps.call(request, 'checkBatch', { body: { messages: [body] } });
    return messageId ?? generatedId(request, origin);
  }
  const { idempotency } = request;
  const accepted = await deps.call(request, 'sendTransactional', { body, idempotency });
  return messageId ?? `${accepted.body.id}@${origin.domain}`;
}

/**
 * Our own batch takes fewer messages than Mailgun's, so a large batch is sent in parts. All are
 * checked before the first one is sent. A part that fails nevertheless (the database may be
 * unavailable) leaves the others sent, so each part has an idempotency key that follows from the
 * request: when the client repeats it, the missing parts are sent and no other.
 */
async function sendToEach(
  deps: CompatDependencies,
  request: AnyRequest,
  outgoing: Outgoing,
  variables: RecipientVariables,
  origin: Origin,
  isDryRun: boolean,
): Promise<string> {
  const { call, batchMax } = deps;
  const parts = partition(uniqueRecipients(outgoing.to), {
    itemsMax: batchMax,
    itemBytes: outgoing.bytes() + MESSAGE_BYTES,
  });
  const id = generatedId(request, origin, parts.length > 1);
  const messagesOf = (part: readonly AddressInput[]): SendBody[] => {
    const budget = valuesBudget(deps);
    return part.map((to) => {
      const body = outgoing.bodyFor(to, substituteFor(to, variables, budget));
      return { ...body, metadata: { ...body.metadata, [MESSAGE_ID_FIELD]: id } };
    });
  };
  if (parts.length > 1 || isDryRun) {
    for (const part of parts) {
      await withRecipients(() =>
        call(request, 'checkBatch', { body: { messages: messagesOf(part) } }),
      );
    }
  }
  if (isDryRun) return id;
  for (const [index, part] of parts.entries()) {
    const idempotency = parts.length === 1 ? request.idempotency : partKey(request, id, index);
    const body = { messages: messagesOf(part), mode: 'strict' };
    await withRecipients(() => call(request, 'sendBatch', { body, idempotency }));
  }
  return id;
}

/** Of the messages that are in memory together, besides their content. */
function valuesBudget({ bodyBytesMax }: CompatDependencies): SizeBudget {
  const detail = `The values that are inserted into the messages can have at most ${bodyBytesMax} bytes together. Use shorter values, or fewer placeholders.`;
  return new SizeBudget(bodyBytesMax, { pointer: '/recipient-variables', detail });
}

/** The first occurrence of each address. Invalid ones are reported by our own send. */
function uniqueRecipients(to: readonly AddressInput[]): AddressInput[] {
  const seen = new Set<string>();
  return to.filter(({ email }) => {
    const parsed = parseMailbox(email);
    const key = parsed.ok ? parsed.mailbox.key : email;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function partition<T>(
  items: readonly T[],
  { itemsMax, itemBytes }: { itemsMax: number; itemBytes: number },
): T[][] {
  const size = Math.max(1, Math.min(itemsMax, Math.floor(PART_BYTES_MAX / itemBytes)));
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/** `isRepeatable`: a repeated request has the same id, so that all parts of a batch have one. */
function generatedId(request: AnyRequest, { domain, form }: Origin, isRepeatable = false): string {
  const { workspaceId, mode } = request.caller;
  const key = request.idempotency?.key;
  const identity = isRepeatable || key !== undefined ? { key, form } : request.requestId;
  const digest = hash('sha256', JSON.stringify([workspaceId, mode, domain, identity]), 'hex');
  return `${digest.slice(0, 32)}@${domain}`;
}

function partKey(request: AnyRequest, id: string, index: number): OperationInput['idempotency'] {
  const { workspaceId, mode } = request.caller;
  return {
    workspaceId,
    mode,
    key: `mailgun:${id}:${index}`,
    requestHash: hash('sha256', id, 'hex'),
  };
}

/** Errors point into our own batch, which the client has not seen. */
async function withRecipients<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof RefusedError) || error.errors.length === 0) throw error;
    const errors = error.errors.map(({ pointer, ...rest }) => ({
      ...rest,
      ...(pointer === undefined ? {} : { pointer: pointer.replace(/^\/messages\/\d+/, '') }),
    }));
    const unique = new Map(errors.map((one) => [`${one.pointer} ${one.detail}`, one]));
    const { message } = invalidFields([...unique.values()]);
    throw new RefusedError(error.code, message, { errors: [...unique.values()] });
  }
}
