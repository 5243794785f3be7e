import { findPersonByEmail, type Person } from '../accounts/people/person-store.ts';
import { emailKeyOf } from '../accounts/people/sign-in.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Given } from './command.ts';
import type { OpenParts } from './house.ts';

export const PERSON_ARGUMENT = { name: 'EMAIL', says: 'The address that they sign in with.' };

/** The person that the first argument means. */
export async function findPerson(given: Given, { pool }: OpenParts): Promise<Person> {
  const email = given.arguments[0] as string;
  const person = await findPersonByEmail(pool, emailKeyOf(email));
  if (person) return person;
  const detail = `Nobody signs in with "${email}": "postrider people list" shows who does.`;
  throw new RefusedError('not_found', detail);
}
