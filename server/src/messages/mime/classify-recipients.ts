import { parseMailbox } from '../../mail/address.ts';
import type { RecipientKind } from '../accept/accepted-message.ts';
import type { AddressInput, SendRequest } from '../accept/send-request.ts';

/**
 * The envelope alone decides who receives the mail. The headers only decide how a recipient is
 * shown: in To, in Cc, or not at all (Bcc). A header address that is not in the envelope gets no
 * mail and is removed, so that the headers show only actual recipients.
 */
export function classifyRecipients(
  envelope: readonly string[],
  to: readonly AddressInput[],
  cc: readonly AddressInput[],
): Required<Pick<SendRequest, 'to' | 'cc' | 'bcc'>> & { to: AddressInput[] } {
  const shown = new Map<string, { kind: RecipientKind; name: string | undefined }>();
  for (const [kind, list] of [
    ['to', to],
    ['cc', cc],
  ] as const) {
    for (const { email, name } of list) {
      const key = addressKey(email);
      if (!shown.has(key)) shown.set(key, { kind, name });
    }
  }
  const sorted = { to: [] as AddressInput[], cc: [] as AddressInput[], bcc: [] as AddressInput[] };
  for (const email of envelope) {
    const { kind, name } = shown.get(addressKey(email)) ?? {
      kind: 'bcc' as const,
      name: undefined,
    };
    sorted[kind].push(name === undefined ? { email } : { email, name });
  }
  return sorted;
}

function addressKey(email: string): string {
  const parsed = parseMailbox(email);
  return parsed.ok ? parsed.mailbox.key : email;
}
