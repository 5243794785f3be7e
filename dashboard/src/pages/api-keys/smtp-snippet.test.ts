import { expect, test } from 'vitest';
import { smtpSnippet } from './smtp-snippet.ts';

/** What a person copies into the settings of a program that only speaks SMTP. */

const OPEN = {
  open: true,
  closed_because: null,
  host: 'mail.example.com',
  port: 2587,
  tls_port: null,
  user: 'postrider',
  starttls: true,
  plaintext: 'this_machine',
} as const;

test('the settings, with the key as the password', () => {
  expect(smtpSnippet('pr_test_x', OPEN).code.split('\n')).toEqual([
    'SMTP_HOST=mail.example.com',
    'SMTP_PORT=2587',
    'SMTP_USER=postrider',
    'SMTP_PASSWORD=pr_test_x',
    'SMTP_ENCRYPTION=starttls',
  ]);
});

test('the port with TLS from the first byte is preferred, and the other one named', () => {
  const both = smtpSnippet('pr_test_x', { ...OPEN, tls_port: 2465 }).code;
  expect(both).toMatch(/^SMTP_PORT=2465$/m);
  expect(both).toMatch(/^SMTP_ENCRYPTION=tls$/m);
  expect(both).toContain('only STARTTLS take port 2587');
  const alone = smtpSnippet('pr_test_x', { ...OPEN, port: null, tls_port: 2465 }).code;
  expect(alone).not.toContain('#');
});

test('without a certificate it says from where it works', () => {
  const near = smtpSnippet('pr_test_x', { ...OPEN, starttls: false });
  expect(near.code).toContain('only from the machine that Postrider runs on');
  const far = smtpSnippet('pr_test_x', { ...OPEN, starttls: false, plaintext: 'anywhere' });
  expect(far.code).toContain('has no certificate');
});

test('a closed door is told, and the key is not shown for it', () => {
  const closed = { ...OPEN, open: false, port: null, closed_because: 'It is off.' };
  expect(smtpSnippet('pr_test_x', closed).code).toBe(
    '# This server takes no mail by SMTP. It is off.',
  );
});
