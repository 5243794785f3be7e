import type { Caller } from '../accounts/caller.ts';
import { SCOPES } from '../accounts/scopes.ts';
import type { DatabaseContext, OperatorSend } from '../cli/command-context.ts';
import { ContactLookup } from '../contacts/contact-lookup.ts';
import { SenderDomainCache } from '../domains/sender-domain-cache.ts';
import { bodyValidator } from '../http/validation/schema-validator.ts';
import { noHandoff } from '../messages/accept/delivery-handoff.ts';
import type { SendRequest } from '../messages/accept/send-request.ts';
import { SendMessage } from '../messages/accept/send-request.ts';
import { previewMessage } from '../messages/content/content-view.ts';
import { notifyDeliveriesDue } from '../messages/lookup/message-store.ts';
import { StreamCache } from '../streams/stream-cache.ts';
import { TemplateCache } from '../templates/template-cache.ts';
import { createAcceptor, createIdempotency } from './build-acceptor.ts';

/** Sends from the command line, with the same checks and commit as the API. A server delivers it. */
export async function sendAsOperator(parts: DatabaseContext, send: OperatorSend): Promise<object> {
  bodyValidator(SendMessage).check(send.body);
  const request = send.body as SendRequest;
  const { pool, clock, config, secretKey } = parts;
  const maxAgeMs = (): number => 1_000;
  const acceptor = createAcceptor({
    pool,
    clock,
    config,
    domains: new SenderDomainCache({ pool, clock, maxAgeMs }),
    templates: new TemplateCache({ pool, clock, maxAgeMs }),
    streams: new StreamCache({ pool, clock, maxAgeMs }),
    contacts: new ContactLookup({ pool }),
    handoff: noHandoff,
    idempotency: createIdempotency(pool, clock, secretKey),
    secretKey,
  });
  const caller = operator(send);
  if (send.dryRun) return await previewMessage(await acceptor.dryRun(caller, request));
  const { message } = await acceptor.accept(caller, request);
  // Awaited, because the command ends now.
  await notifyDeliveriesDue(pool);
  return message;
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
