import { expect, test } from 'vitest';
import { smtpSnippet } from './smtp-snippet.ts';

/** SMTP settings that users copy into their applications. */

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

test('shows the settings with the key as the password', () => {
  expect(smtpSnippet('pr_test_x', OPEN).code.split('\n')).toEqual([
    'SMTP_HOST=mail.example.com',
    'SMTP_PORT=2587',
    'SMTP_USER=postrider',
    'SMTP_PASSWORD=pr_test_x',
    'SMTP_ENCRYPTION=starttls',
  ]);
});

test('prefers the implicit TLS port and mentions the STARTTLS port', () => {
  const both = smtpSnippet('pr_test_x', { ...OPEN, tls_port: 2465 }).code;
  expect(both).toMatch(/^SMTP_PORT=2465$/m);
  expect(both).toMatch(/^SMTP_ENCRYPTION=tls$/m);
  expect(both).toContain('only support STARTTLS, use port 2587');
  const alone = smtpSnippet('pr_test_x', { ...OPEN, port: null, tls_port: 2465 }).code;
  expect(alone).not.toContain('#');
});

test('without a certificate, says where it is available', () => {
  const local = smtpSnippet('pr_test_x', { ...OPEN, starttls: false });
  expect(local.code).toContain('only available on the machine that runs Postrider');
  const remote = smtpSnippet('pr_test_x', { ...OPEN, starttls: false, plaintext: 'anywhere' });
  expect(remote.code).toContain('has no TLS certificate');
});

test('when SMTP is off, says why and does not show the key', () => {
  const closed = { ...OPEN, open: false, port: null, closed_because: 'It is off.' };
  expect(smtpSnippet('pr_test_x', closed).code).toBe(
    '# SMTP is not available on this server. It is off.',
  );
});
