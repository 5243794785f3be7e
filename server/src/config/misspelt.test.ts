import { expect, test } from 'vitest';
import { misspeltIn } from './misspelt.ts';

test('a slip in the name of a setting is told', () => {
  expect(misspeltIn({ WEBHOOKS_ALLOW_PRIVATE: 'true', LOGLEVEL: 'debug', heloName: 'x' })).toEqual([
    'WEBHOOKS_ALLOW_PRIVATE is no setting. Do you mean WEBHOOK_ALLOW_PRIVATE?',
    'LOGLEVEL is no setting. Do you mean LOG_LEVEL?',
    'heloName is no setting. Do you mean HELO_NAME?',
  ]);
});

test('settings, and what others have in the environment, are left alone', () => {
  const others = {
    HOSTNAME: 'a',
    PORTS: '1',
    POST: '1',
    XDG_DATA_DIRS: '/usr',
    HOME: '/',
    PGHOST: 'b',
  };
  expect(misspeltIn({ HELO_NAME: 'mail.example.com', DATA_DIR: './data', ...others })).toEqual([]);
});
