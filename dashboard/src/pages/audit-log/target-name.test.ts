import { expect, test } from 'vitest';
import { targetName } from './target-name.ts';

test.each([
  ['dom_1', { body: { name: 'shop.example' } }, 'shop.example'],
  ['whk_1', { body: { url: 'https://shop.example/hook' } }, 'https://shop.example/hook'],
  ['digest', { body: { key: 'digest', name: 'Weekly digest' } }, 'Weekly digest'],
  ['digest', { body: { key: 'digest' } }, undefined],
  [null, { arguments: ['shop.example'], options: {} }, 'shop.example'],
  ['usr_1', { body: { name: '[not kept]' } }, undefined],
  ['msg_1', {}, undefined],
])('%s with %j', (target, details, name) => {
  expect(targetName({ target, details })).toBe(name);
});
