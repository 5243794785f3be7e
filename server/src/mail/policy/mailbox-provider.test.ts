import { expect, test } from 'vitest';
import { mailboxProvider } from './mailbox-provider.ts';

test.each([
  ['jane@gmail.com', null, 'google'],
  ['jane@GoogleMail.com', null, 'google'],
  ['jane@company.example', 'aspmx.l.google.com', 'google'],
  ['jane@company.example', 'company-example.mail.protection.outlook.com.', 'microsoft'],
  ['jane@company.example', 'mx.company.example', 'other'],
  ['jane@company.example', null, 'other'],
  ['jane@company.example', 'notgoogle.com', 'other'],
  ['"odd@gmail.com"@company.example', null, 'other'],
  ['', null, 'other'],
])('%s at %s is %s', (recipient, mx, provider) => {
  expect(mailboxProvider(recipient, mx)).toBe(provider);
});
