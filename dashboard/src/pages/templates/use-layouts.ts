import { useQuery } from '@tanstack/react-query';
import { useHere } from '../../api/here.ts';
import { everyRow } from '../../api/use-pages.ts';
import { contentApi, type TemplateSummary } from './content-api.ts';

const NONE: TemplateSummary[] = [];

export function useLayouts(): TemplateSummary[] {
  const { api, key } = useHere();
  const { data } = useQuery({
    queryKey: key('templates', 'layout', 'choice'),
    queryFn: () => everyRow(contentApi(api, 'layout').list),
  });
  return data ?? NONE;
}
