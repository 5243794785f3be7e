import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import type { ContentKind, Finding } from './content-api.ts';
import type { Draft } from './use-draft.ts';

export interface Checks {
  errors: readonly Finding[];
  warnings: readonly Finding[];
  /** False until the result for the saved draft arrives; the one before is shown meanwhile. */
  current: boolean;
}

const NONE = { errors: [], warnings: [] };

/** The errors and warnings of the draft, fetched after every save. */
export function useChecks(kind: ContentKind, draft: Draft): Checks {
  const { api, key } = useApi();
  const { data, isPlaceholderData, isPending } = useQuery({
    queryKey: key('template-check', draft.stored.key, draft.saves),
    queryFn: () =>
      unwrap(
        api.POST('/api/v1/templates/{key}/check', { params: { path: { key: draft.stored.key } } }),
      ),
    enabled: kind === 'template',
    placeholderData: keepPreviousData,
    retry: false,
  });
  return { ...(data ?? NONE), current: !isPlaceholderData && !isPending };
}
