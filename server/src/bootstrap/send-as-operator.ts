import type { Caller } from '../accounts/caller.ts';
import { SCOPES } from '../accounts/scopes.ts';
import type { DatabaseContext, OperatorSend } from '../cli/command-context.ts';
import { ContactLookup } from '../contacts/contact-lookup.ts';
import { SenderDomainCache } from '../domains/sender-domain-cache.ts';
import { SendMessage } from '../http/routes/transactional/schemas.ts';
import { bodyValidator } from '../http/validation/schema-validator.ts';
import { noHandoff } from '../messages/accept/delivery-handoff.ts';
import { previewMessage } from '../messages/content/content-view.ts';
import type { SendRequest } from '../messages/accept/send-request.ts';
import { TemplateCache } from '../templates/template-cache.ts';
import { createAcceptor, createIdempotency } from './build-accepting.ts';

/** A send without a door: the same checks and the same commit; whichever server runs delivers it. */
export async function sendAsOperator(parts: DatabaseContext, order: OperatorSend): Promise<object> {
  bodyValidator(SendMessage).check(order.body);
  const request = order.body as SendRequest;
  const { pool, clock, config, secretKey } = parts;
  const noticesArrive = (): boolean => false;
  const acceptor = createAcceptor({
    pool,
    clock,
    config,
    domains: new SenderDomainCache({ pool, clock, isListening: noticesArrive }),
    templates: new TemplateCache({ pool, clock, isListening: noticesArrive }),
    contacts: new ContactLookup({ pool }),
    handover: noHandoff,
    idempotency: createIdempotency(pool, clock, secretKey),
    secretKey,
  });
  const caller = operator(order);
  if (order.dryRun) return previewMessage(await acceptor.dryRun(caller, request));
  const { response: answer } = await acceptor.acceptOne(caller, request, undefined, (message) => ({
    status: 202,
    body: JSON.stringify(message),
  }));
  return JSON.parse(answer.body) as object;
}

function operator({ workspaceId, mode }: OperatorSend): Caller {
  return {
    workspaceId,
    mode,
    scopes: new Set(SCOPES),
    allowedDomains: [],
    actor: 'cli',
    keyId: undefined,
  };
}
