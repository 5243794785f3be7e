import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import { ALARM_KINDS, readRaisedInWorkspace } from '../../../stats/alarm-store.ts';
import { alarmExplanation, alarmStream, publicAlarmSubject } from '../../../stats/alarms.ts';
import { closed, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { StreamFilter } from '../streams/schemas.ts';

const RaisedAlarm = Type.Object(
  {
    kind: oneOf(ALARM_KINDS),
    subject: Type.Union([Type.String(), Type.Null()], {
      description:
        'The sending domain, the stream or the endpoint; null if the alarm concerns the whole workspace.',
    }),
    stream: Type.Union([Type.String(), Type.Null()], {
      description: 'The stream, if the alarm concerns one.',
    }),
    raised_at: Time,
    explanation: Type.String(),
  },
  {
    title: 'RaisedAlarm',
    examples: [
      {
        kind: 'bounce_rate',
        subject: 'yourdomain.com',
        stream: null,
        raised_at: '2026-11-15T09:30:00.000Z',
        explanation: 'The bounce rate of yourdomain.com is too high.',
      },
    ],
  },
);

export function listAlarms(deps: { pool: Pool }): Operation {
  return operation(
    {
      id: 'listAlarms',
      method: 'GET',
      path: '/alarms',
      tag: 'Events',
      summary: 'List active alarms',
      description:
        'Alarms of the key’s mode, newest first; with `stream`, only those about this stream. The events `alarm.raised` and `alarm.cleared` report changes.',
      scope: 'read:events',
      query: closed({ stream: StreamFilter }),
      responses: {
        200: {
          description: 'The alarms.',
          body: Type.Object({ data: Type.Array(RaisedAlarm) }, { title: 'RaisedAlarms' }),
        },
      },
    },
    async ({ caller, query: { stream } }) => {
      const raised = await readRaisedInWorkspace(deps.pool, caller);
      const wanted = raised.filter((one) => stream === undefined || alarmStream(one) === stream);
      const data = wanted.map((alarm) => ({
        kind: alarm.kind,
        subject: publicAlarmSubject(alarm),
        stream: alarmStream(alarm),
        raised_at: new Date(alarm.raisedAtMs).toISOString(),
        explanation: alarmExplanation(alarm),
      }));
      return { status: 200, body: { data } };
    },
  );
}
