import { invalidFields } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';

/** An address from the query in the form for comparing, under the name that a room uses. */
export function addressParameter<Name extends string>(
  name: Name,
  parameter: string,
  query: Record<string, unknown>,
): { [K in Name]?: string } {
  const text = query[parameter];
  if (text === undefined) return {};
  const parsed = parseMailbox(String(text));
  if (!parsed.ok)
    throw invalidFields([{ parameter, code: 'invalid_email', detail: parsed.detail }]);
  return { [name]: parsed.mailbox.key } as { [K in Name]?: string };
}
