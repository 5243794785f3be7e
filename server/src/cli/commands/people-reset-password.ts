import { newResetLink } from '../../accounts/people/password-reset.ts';
import type { Command } from '../command.ts';
import { findPerson, PERSON_ARGUMENT } from '../find-person.ts';
import { withStorage } from '../with-storage.ts';

export const peopleResetPassword: Command = {
  name: 'people reset-password',
  summary: 'Make a link by which somebody sets a new password.',
  details:
    'For those whom the letter of "Forgot your password?" cannot reach. The link works for one hour, and once; it begins with BASE_URL. Hand it to nobody but the person. A second factor is still asked for.',
  arguments: [PERSON_ARGUMENT],
  run: (given) =>
    withStorage(async (parts) => {
      const { pool, clock, config } = parts;
      const person = await findPerson(given, parts);
      const link = await newResetLink({ pool, clock, appUrl: config.http.baseUrl }, person.id);
      return {
        data: { email: person.email, link },
        text: `Within an hour ${person.email} sets a new password at\n\n  ${link}`,
      };
    }),
};
