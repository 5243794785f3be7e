import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { Domains } from '../domains/domains.ts';
import { decodeId, uuidv7 } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import { FieldErrors } from '../messages/accept/field-errors.ts';
import type { SendLimits } from '../messages/accept/send-limits.ts';
import { findMessageHeader } from '../messages/lookup/message-header-store.ts';
import { composeSimulatedMail, type SimulatedMail } from './compose-simulated-mail.ts';
import type { InboundMessage } from './inbound-message.ts';
import type { InboundReceiver } from './inbound-receiver.ts';

/**
 * Lets a workspace send mail to itself in test mode, so that programs that receive mail can be
 * developed without DNS and an open port. The mail is composed as a mail program would, and then
 * parsed, stored and reported like mail that arrives over SMTP, without its authentication.
 */
export interface InboundSimulatorParts {
  receiver: Pick<InboundReceiver, 'simulate'>;
  domains: Pick<Domains, 'find'>;
  pool: Pool;
  clock: Clock;
  limits: SendLimits;
}

export interface SimulateInboundMessage extends SimulatedMail {
  in_reply_to_message_id?: string;
}

export class InboundSimulator {
  readonly #parts: InboundSimulatorParts;

  constructor(parts: InboundSimulatorParts) {
    this.#parts = parts;
  }

  async simulate(scope: TenantScope, mail: SimulateInboundMessage): Promise<InboundMessage> {
    const { receiver, clock, limits } = this.#parts;
    const nowMs = clock.now();
    const errors = new FieldErrors();
    const answers = await this.#answeredMessageId(scope, mail.in_reply_to_message_id, errors);
    const options = { limits, id: uuidv7(nowMs), nowMs, answers };
    const composed = composeSimulatedMail(mail, options, errors);
    if (composed) await this.#checkDomain(scope, composed.to.domain, errors);
    errors.throwIfAny();
    if (!composed) throw new Error('Broken invariant: mail is composed unless there are errors');
    const { from, to, raw: data } = composed;
    return receiver.simulate(scope, { from: from.email, to: to.email, domain: to.domain, data });
  }

  async #answeredMessageId(
    scope: TenantScope,
    given: string | undefined,
    errors: FieldErrors,
  ): Promise<string | undefined> {
    if (given === undefined) return undefined;
    const id = decodeId('msg', given);
    const header = id && (await findMessageHeader(this.#parts.pool, scope, id));
    if (header) return header.messageId;
    const detail = 'There is no message with this id in test mode.';
    errors.add('/in_reply_to_message_id', 'not_found', detail);
    return undefined;
  }

  /** Receiving need not be on, because simulated mail comes over no network. */
  async #checkDomain(
    { workspaceId }: TenantScope,
    domain: string,
    errors: FieldErrors,
  ): Promise<void> {
    if (await this.#parts.domains.find({ workspaceId }, domain)) return;
    const detail = `The workspace has no domain ${domain}. Add it; it need not be verified.`;
    errors.add('/to/email', 'unknown_domain', detail);
  }
}
