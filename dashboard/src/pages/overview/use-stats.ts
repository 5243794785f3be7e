import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { useRefetchOnEvents } from '../../layout/live-events.ts';
import { periodBefore, type Range, startOf } from './ranges.ts';

const COUNTING_DELAY_MS = 2_500;
const POLL_MS = 60_000;

/** Statistics of a range: totals over time, or by group, or of one group. */
export function useStats(
  range: Range,
  more: { group_by?: string; value?: string; points?: boolean; limit?: number },
  enabled: boolean,
) {
  const { api, key, selection } = useApi();
  return useQuery({
    queryKey: key('stats', groupOf(more), range.id),
    queryFn: () => {
      const query = {
        interval: range.interval,
        from: startOf(range, Date.now()),
        ...(range.to === undefined ? {} : { to: range.to }),
        ...more,
      };
      return unwrap(api.GET('/api/v1/stats', { params: { query: query as never } }));
    },
    enabled,
    refetchInterval: POLL_MS,
    // Keep the previous range's data while loading, but never another workspace's, mode's or grouping's.
    placeholderData: (before, query) =>
      query?.queryKey[1] === selection.workspaceId &&
      query?.queryKey[2] === selection.mode &&
      query?.queryKey[3] === groupOf(more)
        ? keepPreviousData(before)
        : undefined,
  });
}

function groupOf({ group_by = '', value = '' }: { group_by?: string; value?: string }): string {
  return `${group_by} ${value}`;
}

/** The parameters for one stream, or for all if it is empty. */
export function ofStream(stream: string): { group_by?: 'stream'; value?: string } {
  return stream === '' ? {} : { group_by: 'stream', value: stream };
}

/** The totals of the period of the same length before the range, to compare with. */
export function usePreviousTotals(range: Range, stream: string, enabled: boolean) {
  const { api, key } = useApi();
  return useQuery({
    queryKey: key('stats', 'before', stream, range.id),
    queryFn: async () => {
      const query = {
        interval: range.interval,
        ...periodBefore(range, Date.now()),
        ...ofStream(stream),
        points: false,
      };
      const stats = await unwrap(api.GET('/api/v1/stats', { params: { query } }));
      return stats.data[0]?.totals ?? null;
    },
    enabled,
    refetchInterval: POLL_MS,
    // Not shown: it only prevents a skeleton when another range is selected.
    placeholderData: keepPreviousData,
  });
}

/** Refetches on events; counting is a second or two behind. */
export function useRefetchStats(): void {
  useRefetchOnEvents(['stats'], COUNTING_DELAY_MS);
}
