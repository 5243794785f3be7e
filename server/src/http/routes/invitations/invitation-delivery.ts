import type { Invitation } from '../../../accounts/people/invitation-store.ts';
import { publicInvitation, type SentInvitation } from '../../../accounts/people/invitations.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { findMessages } from '../../../messages/lookup/message-store.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';

interface Dependencies {
  pool: Pool;
  clock: Clock;
}

/** Invitations of one workspace, each with what became of its email. */
export async function invitationsWithDelivery(
  { pool, clock }: Dependencies,
  workspaceId: string,
  invitations: readonly Invitation[],
) {
  const ids = invitations.flatMap(({ messageId }) => messageId ?? []);
  const messages =
    ids.length === 0 ? [] : await findMessages(pool, { workspaceId, mode: 'live' }, ids);
  const byId = new Map(messages.map((message) => [message.id, publicMessage(message)]));
  return invitations.map((invitation) => ({
    ...publicInvitation(invitation, clock.now()),
    delivery: deliveryOf(byId.get(invitation.messageId ?? '')),
  }));
}

/** Null if it was not emailed, or its message is past its retention. */
function deliveryOf(message: ReturnType<typeof publicMessage> | undefined) {
  const recipient = message?.recipients[0];
  if (!message || !recipient) return null;
  const { status, reason, explanation } = recipient;
  return { message_id: message.id, status, reason, explanation };
}

/** The response of operations that create a link. */
export async function sentInvitation(
  deps: Dependencies,
  { invitation, link }: SentInvitation,
): Promise<object> {
  const [shown] = await invitationsWithDelivery(deps, invitation.workspaceId, [invitation]);
  return { ...shown, mailed: link === null, link };
}
