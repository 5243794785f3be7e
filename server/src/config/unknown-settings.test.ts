import { expect, test } from 'vitest';
import { findUnknownSettings } from './unknown-settings.ts';

test('a misspelled setting is reported', () => {
  expect(
    findUnknownSettings({ WEBHOOKS_ALLOW_PRIVATE: 'true', LOGLEVEL: 'debug', heloName: 'x' }),
  ).toEqual([
    'Unknown setting WEBHOOKS_ALLOW_PRIVATE. Did you mean WEBHOOK_ALLOW_PRIVATE?',
    'Unknown setting LOGLEVEL. Did you mean LOG_LEVEL?',
    'Unknown setting heloName. Did you mean HELO_NAME?',
  ]);
});

test('settings and unrelated variables are ignored', () => {
  const others = {
    HOSTNAME: 'a',
    PORTS: '1',
    POST: '1',
    XDG_DATA_DIRS: '/usr',
    HOME: '/',
    PGHOST: 'b',
  };
  expect(
    findUnknownSettings({ HELO_NAME: 'mail.example.com', DATA_DIR: './data', ...others }),
  ).toEqual([]);
});
