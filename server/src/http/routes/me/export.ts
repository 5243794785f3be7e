import { publicSession } from '../../../accounts/people/account.ts';
import { PASSKEYS_MAX, publicPasskey } from '../../../accounts/people/passkeys/passkeys.ts';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { MeExport } from './schemas.ts';

const SESSIONS_MAX = 1000;

export function exportMe({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'exportMe',
      method: 'GET',
      path: '/me/export',
      tag: 'Account',
      summary: 'Export your account',
      description:
        'What the server stores about you: your account, your workspaces, your passkeys and your ' +
        `active sessions, at most ${SESSIONS_MAX}. Passwords and other secrets are not included. What you created in ` +
        'workspaces belongs to them.',
      scope: 'person',
      responses: { 200: { description: 'Your account.', body: MeExport } },
    },
    async ({ signedIn }) => {
      const found = await people.sessions.list(signedIn, { limit: SESSIONS_MAX });
      const sessions = found.map((one) => publicSession(one, signedIn.session.id));
      const known = await people.passkeys.list(signedIn, { limit: PASSKEYS_MAX });
      const passkeys = known.map(publicPasskey);
      return { status: 200, body: { user: await people.account.me(signedIn), passkeys, sessions } };
    },
  );
}
