import { describe, expect, test } from 'vitest';
import { parseDatabaseUrl } from './database-url.ts';

const urls = (text: string) => parseDatabaseUrl(text).map((host) => host.connectionString);

test('a single host is passed on unchanged', () => {
  const url = 'postgres://user:p%40ss@db.example.com:5433/mail?sslmode=verify-full';
  expect(urls(url)).toEqual([url]);
  expect(urls('postgresql:///mail?host=/run/postgresql')).toEqual([
    'postgresql:///mail?host=/run/postgresql',
  ]);
});

test('several hosts become one URL each', () => {
  expect(urls('postgres://u:p@a:5432,b,[::1]:5434/mail?sslmode=disable')).toEqual([
    'postgres://u:p@a:5432/mail?sslmode=disable',
    'postgres://u:p@b/mail?sslmode=disable',
    'postgres://u:p@[::1]:5434/mail?sslmode=disable',
  ]);
});

test.each(['prefer', 'require', 'verify-ca'])(
  'sslmode=%s becomes verify-full, without a warning from the driver',
  (mode) => {
    const url = `postgres://u:p@a/mail?sslmode=${mode}&application_name=my%20app`;
    expect(urls(url)).toEqual([
      'postgres://u:p@a/mail?sslmode=verify-full&application_name=my+app',
    ]);
    const libpqUrl = `postgres://u:p@a/mail?uselibpqcompat=true&sslmode=disable`;
    expect(urls(libpqUrl)).toEqual([libpqUrl]);
  },
);

test('parameters of other drivers are ignored', () => {
  const url = 'postgres://u:p@a/mail?channel_binding=require&pgbouncer=true&schema=public';
  expect(urls(url)).toEqual([url]);
});

describe('rejects', () => {
  const ADDRESS = 'DATABASE_URL is not a PostgreSQL URL.';
  const PORT = 'A port in DATABASE_URL is not between 1 and 65535.';

  test.each([
    ['another database', 'mysql://a/b', ADDRESS],
    ['one slash', 'postgres:/a', ADDRESS],
    ['key and value', 'a=b', ADDRESS],
    ['nothing', '', ADDRESS],
    ['a slash in the password', 'postgres://u:12/hunter2@db/d', ADDRESS],
    ['a # in the password', 'postgres://u:hunter2#1@db/d', ADDRESS],
    ['a question mark in the password', 'postgres://u:hunter2?1@db/d', PORT],
    ['invalid UTF-8', 'postgres://u:hunter2%ff@db/d', ADDRESS],
    ['an invalid host', 'postgres://u:hunter2@[zz]/d', ADDRESS],
    ['an empty host among others', 'postgres://a,,b/c', 'has several hosts, and one of them is'],
    ['a port above 65535', 'postgres://u:hunter2@db:99999/d', PORT],
    ['port 0', 'postgres://u:hunter2@db:0/d', PORT],
    ['a port of one host among several', 'postgres://u:hunter2@a:5432,b:x/d', PORT],
    ['a port as a parameter', 'postgres://u:hunter2@/d?host=db&port=70000', PORT],
    [
      'an IPv6 address without brackets',
      'postgres://u:hunter2@2001:db8::1/d',
      'must be in brackets',
    ],
    [
      'an unknown sslmode',
      'postgres://u:hunter2@db/d?sslmode=strict',
      'sslmode in DATABASE_URL must be one of disable, no-verify, prefer, require, verify-ca, verify-full.',
    ],
    [
      'an empty sslmode',
      'postgres://u:hunter2@db/d?sslmode=',
      'sslmode in DATABASE_URL must be one of',
    ],
    ['ssl=false', 'postgres://u:hunter2@db/d?ssl=false', 'ssl in DATABASE_URL must be true or 0.'],
    [
      'a misspelled parameter',
      'postgres://u:hunter2@db/d?sslmod=verify-full',
      'Unknown parameter in DATABASE_URL. Did you mean sslmode?',
    ],
    [
      'a missing certificate file',
      'postgres://u:hunter2@db/d?sslrootcert=/nonexistent/ca.pem',
      'Cannot read the file /nonexistent/ca.pem named in DATABASE_URL (ENOENT).',
    ],
  ])('%s', (_, text, expected) => {
    let message = '';
    try {
      parseDatabaseUrl(text);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain(expected);
    expect(message).not.toContain('hunter2');
  });
});
