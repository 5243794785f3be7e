import { parseMailbox } from '../../mail/address.ts';
import type {
  AddressInput,
  RecipientKind,
  SendRequest,
} from '../../messages/accept/send-request.ts';

/**
 * Who receives is what the envelope says, and nothing else. The headers only tell how a recipient is
 * shown: in To, in Cc, or not at all. An address that stands in a header without being in the
 * envelope gets no mail, and is not shown either: what a recipient reads is who was written to.
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
