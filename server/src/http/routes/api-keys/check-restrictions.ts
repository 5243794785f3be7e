import type { ApiKeys, NewApiKey } from '../../../accounts/api-keys.ts';
import { invalidFields } from '../../../lib/refused-error.ts';
import type { StreamReference, Streams } from '../../../streams/streams.ts';

/** Refuses restrictions that no key can have, all of them at once. */
export async function checkRestrictions(
  deps: { apiKeys: ApiKeys; streams: Streams },
  workspaceId: string,
  body: Partial<NewApiKey>,
): Promise<void> {
  const errors = [
    ...deps.apiKeys.fieldErrors(body),
    ...(await deps.streams.errorsIn(workspaceId, allowedStreams(body))),
  ];
  if (errors.length > 0) throw invalidFields(errors);
}

function allowedStreams({ allowed_streams: keys = [] }: Partial<NewApiKey>): StreamReference[] {
  return keys.map((key, index) => ({ key, pointer: `/allowed_streams/${index}` }));
}
