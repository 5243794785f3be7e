import { expect, test } from 'vitest';
import { firstAccountSteps } from './first-account-steps.ts';

/** The first account can be created from wherever the operator's browser is. */

const LOCAL = {
  url: 'http://localhost:3000',
  link: 'http://localhost:3000/app/setup?token=abc',
  host: '127.0.0.1',
  sshServer: undefined,
};
const steps = (changes: Partial<Parameters<typeof firstAccountSteps>[0]>) =>
  firstAccountSteps({ ...LOCAL, ...changes }).join('\n');

test('at the machine itself, the dashboard is named first', () => {
  const text = steps({});
  expect(text).toContain('Create the first one at http://localhost:3000/app.');
  expect(text).toContain('ssh -N -L 3000:localhost:3000 THIS_MACHINE');
});

test('a tunnel to the default port names it', () => {
  expect(steps({ url: 'http://localhost' })).toContain('ssh -N -L 80:localhost:80 ');
  expect(steps({ url: 'https://localhost' })).toContain('ssh -N -L 443:localhost:443 ');
});

test('over SSH, a tunnel to this machine makes the link work', () => {
  const text = steps({ sshServer: '203.0.113.5' });
  expect(text).toContain(
    'ssh -N -L 3000:localhost:3000 203.0.113.5\n    http://localhost:3000/app/',
  );
  expect(text).toContain('On your own computer, forward the');
  expect(text).not.toContain('Create the first one at');
  expect(text).toContain('set HOST to 0.0.0.0');
});

test('a server that listens on the network needs no tunnel, but a link that names it', () => {
  const open = { host: '0.0.0.0', sshServer: '203.0.113.5' };
  expect(steps(open)).toContain('    http://203.0.113.5:3000/app/setup?token=abc');
  expect(steps(open)).toContain('Set BASE_URL');
  expect(steps({ ...open, sshServer: '2001:db8::5' })).toContain('http://[2001:db8::5]:3000/app/');
});

test('with a public URL, the link works everywhere', () => {
  const text = steps({
    url: 'https://mail.example',
    link: 'https://mail.example/app/setup?token=abc',
  });
  expect(text).toContain('    https://mail.example/app/setup?token=abc');
  expect(text).not.toContain('ssh');
});
