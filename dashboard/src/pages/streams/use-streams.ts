import { useQuery } from '@tanstack/react-query';
import { type Schema, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { useCan } from '../../session/session.ts';

export type Stream = Schema<'Stream'>;

/** All streams of the workspace; they are few. */
export function useStreams() {
  const { api, key } = useApi();
  const enabled = useCan()('read:streams');
  return useQuery({
    queryKey: key('streams'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/streams', { params: { query } }))),
    enabled,
  });
}
