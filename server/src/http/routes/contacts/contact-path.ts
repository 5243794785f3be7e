import {
  type ContactIdentifier,
  notFound,
  parseContactIdentifier,
} from '../../../contacts/contacts.ts';

/**
 * Returns the contact that a path names. A value that is neither an address nor an id is not
 * found.
 */
export function parseContactPath(params: unknown): ContactIdentifier {
  const pointer = parseContactIdentifier((params as { email: string }).email);
  if (!pointer) throw notFound();
  return pointer;
}
