import { listPeople } from '../../accounts/people/person-store.ts';
import { encodeId } from '../../lib/ids.ts';
import { columns } from '../columns.ts';
import type { Command } from '../command.ts';
import { withStorage } from '../with-storage.ts';

export const peopleList: Command = {
  name: 'people list',
  summary: 'List who may sign in, and to which workspaces.',
  run: () =>
    withStorage(async ({ pool }) => {
      const data = (await listPeople(pool)).map((person) => ({
        id: encodeId('usr', person.id),
        email: person.email,
        name: person.name,
        created_at: new Date(person.createdAtMs).toISOString(),
        totp_enabled: person.totpConfirmedAtMs !== null,
        workspaces: person.memberships,
      }));
      const rows = data.map(({ email, name, totp_enabled, workspaces }) => [
        email,
        name,
        totp_enabled ? 'on' : 'off',
        workspaces.map(({ workspace, role }) => `${workspace} (${role})`).join(', '),
      ]);
      return {
        data: { data, next_cursor: null },
        text:
          rows.length > 0
            ? columns([['EMAIL', 'NAME', '2ND FACTOR', 'WORKSPACES'], ...rows])
            : 'There is nobody yet: the first visit to the dashboard makes an account.',
      };
    }),
};
