import type { FieldError } from '../../../lib/refused-error.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Streams } from '../../../streams/streams.ts';
import { publicSuppression } from '../../../suppressions/suppression-entry.ts';
import type { NewSuppression } from '../../../suppressions/suppression-fields.ts';
import type { AddResult, Suppressions } from '../../../suppressions/suppressions.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateSuppressions, SUPPRESSIONS_MAX, SuppressionResults } from './schemas.ts';

export function createSuppressionsBulk(deps: {
  suppressions: Suppressions;
  streams: Streams;
}): Operation {
  return operation(
    {
      id: 'createSuppressionsBulk',
      method: 'POST',
      path: '/suppressions/bulk',
      tag: 'Suppressions',
      summary: 'Create suppressions in bulk',
      description:
        `Adds up to ${SUPPRESSIONS_MAX.toLocaleString('en')} suppressions in one transaction. ` +
        'Invalid entries are reported and the others are added. If no entry is valid or a stream ' +
        'does not exist, the response is 422.',
      scope: 'write:suppressions',
      body: CreateSuppressions,
      examples: {
        several: {
          summary: 'Two addresses and a domain',
          value: {
            suppressions: [
              { email: 'jane@example.com', reason: 'unsubscribe' },
              { email: 'joe@example.com', reason: 'complaint' },
              { domain: 'example.net' },
            ],
          },
        },
      },
      responses: { 200: { description: 'The result for each entry.', body: SuppressionResults } },
    },
    async ({ caller, body }) => {
      const given = (body as { suppressions: NewSuppression[] }).suppressions;
      const named = given.flatMap(({ stream }, index) =>
        stream == null ? [] : { key: stream, pointer: `/suppressions/${index}/stream` },
      );
      await deps.streams.check(caller.workspaceId, named);
      const results = await deps.suppressions.addMany(caller, given);
      if (results.every((result) => 'errors' in result)) throw noneValid(results);
      const count = (which: (result: AddResult) => boolean) => results.filter(which).length;
      return {
        status: 200,
        body: {
          data: results.map(publicResult),
          created: count((result) => 'created' in result && result.created),
          existing: count((result) => 'created' in result && !result.created),
          failed: count((result) => 'errors' in result),
        },
      };
    },
  );
}

function publicResult(result: AddResult, index: number): object {
  if (!('errors' in result)) {
    const { created, suppression } = result;
    return { index, created, suppression: publicSuppression(suppression) };
  }
  const errors = placed(result.errors, index);
  const detail = `${errors[0]?.pointer}: ${errors[0]?.detail}`;
  return { index, error: { code: 'validation_failed', detail, errors } };
}

function noneValid(results: readonly AddResult[]): RefusedError {
  const errors = results.flatMap((result, index) =>
    'errors' in result ? placed(result.errors, index) : [],
  );
  return new RefusedError('validation_failed', 'No entry is valid. Nothing was added.', { errors });
}

function placed(errors: readonly FieldError[], index: number): FieldError[] {
  return errors.map((error) => ({ ...error, pointer: `/suppressions/${index}${error.pointer}` }));
}
