import type { Streams } from '../../../streams/streams.ts';
import { publicSuppression } from '../../../suppressions/suppression-entry.ts';
import type { NewSuppression } from '../../../suppressions/suppression-fields.ts';
import type { Suppressions } from '../../../suppressions/suppressions.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateSuppression, Suppression } from './schemas.ts';

export function createSuppression(deps: {
  suppressions: Suppressions;
  streams: Streams;
}): Operation {
  return operation(
    {
      id: 'createSuppression',
      method: 'POST',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'Create a suppression',
      description:
        'No more mail is sent to the address or domain in the mode of the key, everywhere or in ' +
        'one stream; scheduled messages to it become `suppressed`. If it is already suppressed, the given fields are ' +
        'updated.',
      scope: 'write:suppressions',
      body: CreateSuppression,
      semanticChecks: (body, invalid) =>
        deps.suppressions.fieldErrors(body, !invalid.has('email') && !invalid.has('domain')),
      examples: {
        address: {
          summary: 'One address',
          value: { email: 'jane@example.com', reason: 'unsubscribe', note: 'Requested by phone' },
        },
        stream: {
          summary: 'One address, in one stream',
          value: { email: 'jane@example.com', stream: 'weekly-digest', reason: 'unsubscribe' },
        },
        domain: { summary: 'A whole domain', value: { domain: 'example.net' } },
      },
      responses: {
        200: { description: 'It was already suppressed.', body: Suppression },
        201: { description: 'It is now suppressed.', body: Suppression },
      },
    },
    async ({ caller, body }) => {
      if (body.stream != null) {
        await deps.streams.check(caller.workspaceId, [{ key: body.stream, pointer: '/stream' }]);
      }
      const { suppression, created } = await deps.suppressions.add(caller, body as NewSuppression);
      return { status: created ? 201 : 200, body: publicSuppression(suppression) };
    },
  );
}
