import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/use-api.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { contentApi, type TemplateSummary } from './content-api.ts';

const NONE: TemplateSummary[] = [];

export function useLayouts(): TemplateSummary[] {
  const { api, key } = useApi();
  const { data } = useQuery({
    queryKey: key('templates', 'layout', 'choice'),
    queryFn: () => fetchAllRows(contentApi(api, 'layout').list),
  });
  return data ?? NONE;
}
