import { newResetLink } from '../../accounts/people/password-reset.ts';
import type { Command } from '../command.ts';
import { findPerson, PERSON_ARGUMENT } from '../find-person.ts';
import { withDatabase } from '../with-database.ts';

export const peopleResetPassword: Command = {
  name: 'people reset-password',
  summary: 'Create a password reset link.',
  details:
    'For users who cannot receive the password reset email. The link starts with BASE_URL, works once and expires after one hour. Give it only to that person. A second factor is still required, unless the address was not verified before: then earlier passkeys and the second factor are removed.',
  arguments: [PERSON_ARGUMENT],
  run: (input) =>
    withDatabase(async (parts) => {
      const { pool, clock, config } = parts;
      const person = await findPerson(input, parts);
      const link = await newResetLink({ pool, clock, appUrl: config.http.baseUrl }, person.id);
      return {
        data: { email: person.email, link },
        text: `${person.email} can set a new password within one hour at\n\n  ${link}`,
      };
    }),
};
