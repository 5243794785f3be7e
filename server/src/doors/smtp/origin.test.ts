import { expect, test } from 'vitest';
import { directOrigin, proxiedOrigin } from './origin.ts';

/** How much of what a proxy tells is believed. */

test('the client that a proxy tells is the source, and both are on the way', () => {
  expect(directOrigin('203.0.113.7')).toEqual({ ip: '203.0.113.7', way: ['203.0.113.7'] });
  const origin = proxiedOrigin('127.0.0.1', '203.0.113.7');
  expect(origin).toEqual({ ip: '203.0.113.7', way: ['127.0.0.1', '203.0.113.7'] });
});

test('this machine is one of its own addresses told by itself, and never by another', () => {
  expect(proxiedOrigin('::1', '127.0.0.1')).toEqual({ ip: '127.0.0.1', way: ['::1', '127.0.0.1'] });
  for (const near of ['127.0.0.1', '127.8.8.8', '::1', undefined]) {
    expect(proxiedOrigin('10.0.0.5', near)).toEqual({
      ip: '10.0.0.5',
      way: ['10.0.0.5', 'unknown'],
    });
  }
  expect(proxiedOrigin('127.0.0.1', undefined).way).toContain('unknown');
});
