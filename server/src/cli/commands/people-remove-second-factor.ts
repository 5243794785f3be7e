import { createSecondFactor } from '../../accounts/people/second-factor.ts';
import type { Command } from '../command.ts';
import { findPerson, PERSON_ARGUMENT } from '../find-person.ts';
import { withDatabase } from '../with-database.ts';

export const peopleRemoveSecondFactor: Command = {
  name: 'people remove-second-factor',
  summary: 'Remove the second factor of a user who lost their phone and recovery codes.',
  details: 'Verify their identity first: from now on the password alone is enough.',
  arguments: [PERSON_ARGUMENT],
  run: (input) =>
    withDatabase(async (parts) => {
      const person = await findPerson(input, parts);
      await createSecondFactor(parts).remove(person.id);
      return {
        data: { email: person.email, totp_enabled: false },
        text: `${person.email} can now sign in with the password alone.`,
      };
    }),
};
