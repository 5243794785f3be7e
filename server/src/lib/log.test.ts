import { expect, test } from 'vitest';
import { createLog } from './log.ts';

function logged(...args: [object, string]): string {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });
  log.info(...args);
  return lines.join('');
}

test('a line is JSON with a time and a level name', () => {
  expect(JSON.parse(logged({ port: 3000 }, 'listening'))).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    port: 3000,
    msg: 'listening',
  });
});

test('secrets are redacted at every supported level', () => {
  const line = logged(
    {
      token: 'pr_live_hunter2',
      req: { headers: { authorization: 'Bearer hunter2', cookie: 'hunter2', accept: 'kept' } },
      headers: { 'set-cookie': 'hunter2', Authorization: 'hunter2' },
      relay: { auth: { password: 'hunter2' }, secret: 'hunter2' },
    },
    'request',
  );
  expect(line).not.toContain('hunter2');
  expect(line).toContain('kept');
});
