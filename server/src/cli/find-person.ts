import { findPersonByEmail, type Person } from '../accounts/people/person-store.ts';
import { emailKeyOf } from '../accounts/people/sign-in.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { CommandInput } from './command.ts';
import type { DatabaseContext } from './command-context.ts';
import { noteMember } from './running-command.ts';

export const PERSON_ARGUMENT = { name: 'EMAIL', description: 'The email address of the user.' };

/** Finds the user given as the first argument. */
export function findPerson(input: CommandInput, parts: DatabaseContext): Promise<Person> {
  return findPersonWithEmail(input.arguments[0] as string, parts);
}

export async function findPersonWithEmail(
  email: string,
  { pool }: Pick<DatabaseContext, 'pool'>,
): Promise<Person> {
  const person = await findPersonByEmail(pool, emailKeyOf(email));
  if (person) {
    await noteMember(person.id);
    return person;
  }
  const detail = `No user with email "${email}". Run "postrider people list" to see all.`;
  throw new RefusedError('not_found', detail);
}
