import { listPeople } from '../../accounts/people/person-store.ts';
import { encodeId } from '../../lib/ids.ts';
import type { Command } from '../command.ts';
import { table } from '../terminal.ts';
import { withDatabase } from '../with-database.ts';

export const peopleList: Command = {
  name: 'people list',
  summary: 'List user accounts and their workspaces.',
  run: () =>
    withDatabase(async ({ pool }) => {
      const data = (await listPeople(pool)).map((person) => ({
        id: encodeId('usr', person.id),
        email: person.email,
        name: person.name,
        email_verified: person.emailVerifiedAtMs !== null,
        created_at: new Date(person.createdAtMs).toISOString(),
        instance_owner: person.isInstanceOwner,
        totp_enabled: person.totpConfirmedAtMs !== null,
        delete_at: person.deleteAtMs === null ? null : new Date(person.deleteAtMs).toISOString(),
        workspaces: person.memberships,
      }));
      const rows = data.map(
        ({ email, name, email_verified, totp_enabled, delete_at, workspaces }) => [
          email,
          email_verified ? 'yes' : 'no',
          delete_at === null ? name : `${name} (until ${delete_at})`,
          totp_enabled ? 'on' : 'off',
          workspaces.map(({ workspace, role }) => `${workspace} (${role})`).join(', '),
        ],
      );
      return {
        data: { data, next_cursor: null },
        text:
          rows.length > 0
            ? table(['EMAIL', 'VERIFIED', 'NAME', '2FA', 'WORKSPACES'], rows)
            : 'No accounts. Open the dashboard to create the first one.',
      };
    }),
};
