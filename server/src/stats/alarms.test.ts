import { expect, test } from 'vitest';
import { ALARM_KINDS, type AlarmKind, type AlarmReading } from './alarm-store.ts';
import {
  alarmExplanation,
  alarmStream,
  publicAlarmSubject,
  shouldRaise,
  shouldStayRaised,
} from './alarms.ts';

function reading(kind: AlarmKind, value: number): AlarmReading {
  return { workspaceId: 'w', mode: 'live', kind, subject: 'shop.example', value };
}

test('an alarm is raised at its threshold', () => {
  expect(shouldRaise(reading('bounce_rate', 0.0499), 0.05)).toBe(false);
  expect(shouldRaise(reading('bounce_rate', 0.05), 0.05)).toBe(true);
});

test('a raised alarm stays until the value falls below 80% of the threshold', () => {
  expect(shouldStayRaised(reading('bounce_rate', 0.041), 0.05)).toBe(true);
  expect(shouldStayRaised(reading('bounce_rate', 0.039), 0.05)).toBe(false);
});

test('for an expiring key lower is worse', () => {
  expect(shouldRaise(reading('key_expiring', 3_601), 3_600)).toBe(false);
  expect(shouldRaise(reading('key_expiring', 3_600), 3_600)).toBe(true);
  expect(shouldStayRaised(reading('key_expiring', 3_000), 3_600)).toBe(true);
  expect(shouldStayRaised(reading('key_expiring', 90_000), 3_600)).toBe(false);
});

test('a threshold of 0 disables an alarm', () => {
  for (const kind of ALARM_KINDS) {
    expect(shouldRaise(reading(kind, 1), 0)).toBe(false);
    expect(shouldStayRaised(reading(kind, 1), 0)).toBe(false);
  }
});

test('every alarm is explained, and its subject has its public form', () => {
  for (const kind of ALARM_KINDS) {
    expect(alarmExplanation({ kind, subject: 'shop.example' })).toMatch(/^[A-Z].*\.$/);
  }
  const id = '00000000-0000-7000-8000-000000000001';
  expect(publicAlarmSubject({ kind: 'webhook_failing', subject: id })).toMatch(/^whk_/);
  expect(publicAlarmSubject({ kind: 'key_expiring', subject: id })).toMatch(/^key_/);
  expect(publicAlarmSubject({ kind: 'queue_age', subject: '' })).toBeNull();
  expect(publicAlarmSubject({ kind: 'bounce_rate', subject: 'a.example' })).toBe('a.example');
  expect(alarmStream({ kind: 'bounce_rate', subject: 'a.example' })).toBeNull();
  expect(alarmStream({ kind: 'stream_complaint_rate', subject: 'digest' })).toBe('digest');
});
