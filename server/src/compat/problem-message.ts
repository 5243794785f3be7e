import type { ProblemDetails } from '../http/problems/problem-details.ts';

/** All of a problem in one text, for error formats that have a single message. */
export function problemMessage({ detail, errors = [] }: ProblemDetails): string {
  if (errors.length < 2) return detail;
  const fields = errors.map(({ pointer, parameter, detail: text }) => {
    const location = pointer || parameter;
    return location ? `${location}: ${text}` : text;
  });
  // A placeholder without a value is reported for each part of the content.
  return [detail, ...new Set(fields)].join(' ');
}
