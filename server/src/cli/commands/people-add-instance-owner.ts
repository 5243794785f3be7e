import { setInstanceOwner } from '../../accounts/people/person-store.ts';
import type { Command } from '../command.ts';
import { findPerson, PERSON_ARGUMENT } from '../find-person.ts';
import { noteServer } from '../running-command.ts';
import { withDatabase } from '../with-database.ts';

export const peopleAddInstanceOwner: Command = {
  name: 'people add-instance-owner',
  summary: 'Let a user manage operator keys in the dashboard.',
  details:
    'An instance owner can create operator keys, which manage all workspaces. The first account of a server is one.',
  arguments: [PERSON_ARGUMENT],
  run: (input) =>
    withDatabase(async (parts) => {
      await noteServer();
      const person = await findPerson(input, parts);
      await setInstanceOwner(parts.pool, person.id, true);
      return {
        data: { email: person.email, instance_owner: true },
        text: `${person.email} is now an instance owner.`,
      };
    }),
};
