import { expect, test } from 'vitest';
import { invitationEmail, passwordResetEmail } from './system-emails.ts';

const LINK = 'https://mail.example/app/reset-password#secret';

test('values are variables, so that a name cannot add markup or a second link', () => {
  const email = passwordResetEmail({ email: 'j@example.com', name: '<b>Jane</b>' }, LINK);
  expect(email.html).not.toContain('Jane');
  expect(email.html).not.toContain('secret');
  expect(email.variables).toEqual({ name: '<b>Jane</b>', link: LINK });
  expect(email.ttlSeconds).toBe(3600);
});

test('characters that a header cannot contain are removed from the name', () => {
  const to = (name: string) => passwordResetEmail({ email: 'j@example.com', name }, LINK).to;
  expect(to('Jane\r\nBcc: eve@example.com')).toEqual({
    email: 'j@example.com',
    name: 'Jane Bcc: eve@example.com',
  });
  expect(to('\u2028\u0000')).toEqual({ email: 'j@example.com' });
});

test('an invitation names the inviter, the workspace and the role', () => {
  const variables = { inviter: 'Jane', workspace: 'Shop', role: 'viewer', link: LINK };
  const email = invitationEmail('joe@example.com', variables);
  expect(email.to).toEqual({ email: 'joe@example.com' });
  for (const name of Object.keys(variables)) {
    expect(email.subject + email.html).toContain(`{{ ${name} }}`);
  }
});
