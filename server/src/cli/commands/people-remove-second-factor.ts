import { createSecondFactor } from '../../accounts/people/second-factor.ts';
import type { Command } from '../command.ts';
import { findPerson, PERSON_ARGUMENT } from '../find-person.ts';
import { withStorage } from '../with-storage.ts';

export const peopleRemoveSecondFactor: Command = {
  name: 'people remove-second-factor',
  summary: 'Let somebody who has lost their phone and recovery codes sign in without.',
  details: 'Make sure that it is really them: from now on the password alone is enough.',
  arguments: [PERSON_ARGUMENT],
  run: (given) =>
    withStorage(async (parts) => {
      const person = await findPerson(given, parts);
      await createSecondFactor(parts).remove(person.id);
      return {
        data: { email: person.email, totp_enabled: false },
        text: `${person.email} signs in with the password alone.`,
      };
    }),
};
