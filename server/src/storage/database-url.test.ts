import { expect, test } from 'vitest';
import { placesOf } from './database-url.ts';

const urls = (text: string) => placesOf(text)?.map((place) => place.connectionString);

test('one host is passed on as it stands', () => {
  const url = 'postgres://user:p%40ss@db.example.com:5433/mail?sslmode=verify-full';
  expect(urls(url)).toEqual([url]);
  expect(urls('postgresql:///mail?host=/run/postgresql')).toEqual([
    'postgresql:///mail?host=/run/postgresql',
  ]);
});

test('several hosts become one address each, with all else the same', () => {
  expect(urls('postgres://u:p@a:5432,b,[::1]:5434/mail?sslmode=disable')).toEqual([
    'postgres://u:p@a:5432/mail?sslmode=disable',
    'postgres://u:p@b/mail?sslmode=disable',
    'postgres://u:p@[::1]:5434/mail?sslmode=disable',
  ]);
});

test.each(['mysql://a/b', 'postgres:/a', 'postgres://a,,b/c', 'a=b', ''])(
  '%j is refused',
  (text) => {
    expect(placesOf(text)).toBeUndefined();
  },
);
