import { findPersonByEmail, type Person } from '../accounts/people/person-store.ts';
import { emailKeyOf } from '../accounts/people/sign-in.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { CommandInput } from './command.ts';
import type { DatabaseContext } from './command-context.ts';

export const PERSON_ARGUMENT = { name: 'EMAIL', description: 'The email address of the user.' };

/** Finds the user given as the first argument. */
export async function findPerson(input: CommandInput, { pool }: DatabaseContext): Promise<Person> {
  const email = input.arguments[0] as string;
  const person = await findPersonByEmail(pool, emailKeyOf(email));
  if (person) return person;
  const detail = `No user with email "${email}". Run "postrider people list" to see all.`;
  throw new RefusedError('not_found', detail);
}
