import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import type { ContentKind, Finding } from './content-api.ts';
import type { Draft } from './use-draft.ts';

export interface Findings {
  errors: readonly Finding[];
  warnings: readonly Finding[];
}

const NONE: Findings = { errors: [], warnings: [] };

/** What publishing would say, looked up after every save. */
export function useFindings(kind: ContentKind, draft: Draft): Findings {
  const { api, key } = useHere();
  const { data } = useQuery({
    queryKey: key('template-check', draft.stored.key, draft.saves),
    queryFn: () =>
      ask(
        api.POST('/api/v1/templates/{key}/check', { params: { path: { key: draft.stored.key } } }),
      ),
    enabled: kind === 'template',
    placeholderData: keepPreviousData,
    retry: false,
  });
  return data ?? NONE;
}
