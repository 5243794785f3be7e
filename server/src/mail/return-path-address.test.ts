import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { uuidv7 } from '../lib/ids.ts';
import { systemClock } from '../lib/time/clock.ts';
import { parseMailbox } from './address.ts';
import { findReturnPaths, parseReturnPath, returnPathFor } from './return-path-address.ts';

const key = randomBytes(32);
const workspaceId = '01997f2a-0000-7000-8000-0000fedcba98';
const workspaceTail = 'fedcba98';

test('identifies its delivery, even when a server has changed the case', () => {
  for (let ordinal = 0; ordinal < 50; ordinal++) {
    const delivery = { messageId: uuidv7(systemClock.now()), ordinal };
    const path = returnPathFor({ workspaceId, ...delivery }, 'bounces.example.com', key);
    expect(parseReturnPath(path, key)).toEqual({ workspaceTail, ...delivery });
    expect(parseReturnPath(path.toUpperCase(), key)).toEqual({ workspaceTail, ...delivery });
    expect(parseMailbox(path)).toMatchObject({ ok: true });
  }
});

test('several recipients of one transaction share a path without an ordinal', () => {
  const shared = { messageId: uuidv7(systemClock.now()), ordinal: undefined };
  const path = returnPathFor({ workspaceId, ...shared }, 'b.example', key);
  expect(parseReturnPath(path, key)).toEqual({ workspaceTail, ...shared });
});

test('a path that was changed, invented, or signed with another key is rejected', () => {
  const path = returnPathFor({ workspaceId, messageId: uuidv7(1), ordinal: 3 }, 'b.example', key);
  const changed = path.replace(
    /^(b-.{5})(.)/,
    (_, before, one) => before + (one === 'a' ? 'b' : 'a'),
  );
  expect(parseReturnPath(changed, key)).toBeUndefined();
  expect(parseReturnPath(path, randomBytes(32))).toBeUndefined();
  for (const made of [
    '',
    '@',
    'b-@b.example',
    'b-aaaa@b.example',
    'postmaster@b.example',
    `${path}x`,
  ]) {
    if (made !== `${path}x`) expect(parseReturnPath(made, key)).toBeUndefined();
  }
  expect(parseReturnPath(path.replace('@', 'a@'), key)).toBeUndefined();
  const [local = '', host] = path.split('@');
  for (const letter of 'abcdefghijklmnopqrstuvwxyz234567') {
    const spelled = `${local.slice(0, -1)}${letter}`;
    const isOurs = parseReturnPath(`${spelled}@${host}`, key) !== undefined;
    expect(isOurs).toBe(spelled === local);
  }
});

test('is found anywhere in a header, but only if we issued it', () => {
  const delivery = { messageId: uuidv7(systemClock.now()), ordinal: 2 };
  const path = returnPathFor({ workspaceId, ...delivery }, 'Bounce.example.com', key);
  const other = randomBytes(32);
  const forged = returnPathFor({ workspaceId, ...delivery }, 'bounce.example.com', other);
  const header = `Return-Path: <${forged}>\r\nReceived-SPF: pass (x) smtp.mailfrom=${path.toUpperCase()}; x`;
  expect(findReturnPaths(header, key)).toEqual([
    { workspaceTail, ...delivery, host: 'bounce.example.com' },
  ]);
  expect(findReturnPaths(forged, key)).toEqual([]);
  expect(findReturnPaths(`b-${path}`.repeat(5000), key).length).toBeLessThanOrEqual(10);
});
