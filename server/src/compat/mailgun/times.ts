import { invalidFields } from '../../lib/refused-error.ts';

/** Times as Mailgun reads and writes them. */

/** Seconds since 1970, or a date as in mail. Clients write `undefined` or nothing for an option without value. */
export function toTime(text: string | undefined, parameter: string): string | undefined {
  if (text === undefined || text === 'undefined' || text === '') return undefined;
  const ms = /^\d{1,11}(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text);
  if (ms >= 0 && ms < 8.64e15) return new Date(Math.floor(ms)).toISOString();
  const detail = 'Not a time. Write seconds since 1970, or `Fri, 25 Oct 2026 23:10:10 -0000`.';
  throw invalidFields([{ parameter, code: 'invalid_format', detail }]);
}

/** As in mail: `Fri, 21 Oct 2011 11:02:55 UTC`. */
export function toDate(time: string | number): string {
  return new Date(time).toUTCString().replace(/GMT$/, 'UTC');
}
