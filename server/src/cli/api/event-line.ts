import { type Painted, paint, paintState, type Screen, shortTime, styled } from '../terminal.ts';
import type { ApiEvent } from './api-client.ts';

/** An event in one line: when, what, and about whom. */
export function eventLine({ created_at, type, data }: ApiEvent): Screen {
  const time = paint('dim', shortTime(created_at));
  return styled`${time}  ${paintType(type)}  ${subjectOf(data)}`;
}

function paintType(type: string): Painted {
  const [, state = ''] = type.split('.');
  return { ...paintState(state), text: type };
}

/** The recipient and the reason of a message event, or the name of what another event is about. */
function subjectOf(data: Record<string, unknown>): string {
  const nested = Object.values(data).flatMap((value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? [value] : [],
  );
  const named = (field: string): unknown[] => [
    data[field],
    ...nested.map((value) => (value as Record<string, unknown>)[field]),
  ];
  const found = ['recipient', 'name', 'key', 'email', 'message_id', 'explanation'].flatMap(
    (field) =>
      named(field)
        .filter((value) => typeof value === 'string')
        .slice(0, 1),
  );
  return [...new Set(found)].join('  ');
}
