import { expect, test } from 'vitest';
import { STEPS, stepOf } from './statement-steps.ts';

test('a statement belongs to the first step whose tables it writes', () => {
  const texts = {
    accept: 'with m as (insert into messages (id) select 1) insert into events select 1',
    record: 'with moved as (update deliveries d set a = 1) insert into attempts select 1',
    claim: 'select from deliveries where status = $1 for update skip locked',
    'fan-out':
      '\nwith place as (select 1),\nmade as (insert into webhook_deliveries select 1) select 1',
    'webhook record':
      'with moved as (update webhook_deliveries d set a = 1) insert into webhook_attempts select 1',
    'webhook claim': 'update webhook_deliveries d set lease = $1',
    statistics: 'insert into statistics_minute as s select 1',
    'other statements': 'select from webhooks where enabled',
  };
  for (const [step, text] of Object.entries(texts)) expect(stepOf({ text })).toBe(step);
  const chunk =
    'with chunk as (delete from event_chunks), made as (insert into webhook_deliveries)';
  expect(stepOf({ text: chunk })).toBe('fan-out');
  expect(stepOf({ text: `select string_agg(a, ',') as uncounted from events` })).toBe('statistics');
  expect(STEPS).toEqual(expect.arrayContaining(Object.keys(texts)));
});
