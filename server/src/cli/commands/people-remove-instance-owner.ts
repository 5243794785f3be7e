import { setInstanceOwner } from '../../accounts/people/person-store.ts';
import type { Command } from '../command.ts';
import { findPerson, PERSON_ARGUMENT } from '../find-person.ts';
import { noteServer } from '../running-command.ts';
import { withDatabase } from '../with-database.ts';

export const peopleRemoveInstanceOwner: Command = {
  name: 'people remove-instance-owner',
  summary: 'Stop a user from managing operator keys in the dashboard.',
  details: 'Takes effect at once. Keys that the user created keep working until they are revoked.',
  arguments: [PERSON_ARGUMENT],
  run: (input) =>
    withDatabase(async (parts) => {
      await noteServer();
      const person = await findPerson(input, parts);
      await setInstanceOwner(parts.pool, person.id, false);
      return {
        data: { email: person.email, instance_owner: false },
        text: `${person.email} is no longer an instance owner.`,
      };
    }),
};
