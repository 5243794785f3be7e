import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { useRefetchOnEvents } from '../../layout/live-events.ts';
import { RANGES, type RangeName, startOf } from './ranges.ts';

const COUNTING_DELAY_MS = 2_500;
const POLL_MS = 60_000;

/** The figures of a range: all of them over time, or by group. */
export function useStats(
  name: RangeName,
  more: { group_by?: string; points?: boolean; limit?: number },
  enabled: boolean,
) {
  const { api, key, selection: place } = useApi();
  return useQuery({
    queryKey: key('stats', more.group_by ?? '', name),
    queryFn: () => {
      const range = RANGES[name];
      const query = { interval: range.interval, from: startOf(range, Date.now()), ...more };
      return unwrap(api.GET('/api/v1/stats', { params: { query: query as never } }));
    },
    enabled,
    refetchInterval: POLL_MS,
    // What another range held may stay a moment; of another place, or another kind, never.
    placeholderData: (before, query) =>
      query?.queryKey[1] === place.workspaceId &&
      query?.queryKey[2] === place.mode &&
      query?.queryKey[3] === (more.group_by ?? '')
        ? keepPreviousData(before)
        : undefined,
  });
}

/** They follow the stream; counting is a second or two behind what happens. */
export function useRefetchStats(): void {
  useRefetchOnEvents(['stats'], COUNTING_DELAY_MS);
}
