import { type ContactPointer, notFound, parsePointer } from '../../../contacts/contacts.ts';

/** The contact that a path names. What can be neither an address nor an id is not found. */
export function contactPointer(params: unknown): ContactPointer {
  const pointer = parsePointer((params as { email: string }).email);
  if (!pointer) throw notFound();
  return pointer;
}
