import { useQuery } from '@tanstack/react-query';
import { type Schema, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { useCan } from '../../session/session.ts';

/** The domains of the workspace; undefined while they load, and for members who cannot see them. */
export function useDomains(): Schema<'Domain'>[] | undefined {
  const { api, key } = useApi();
  const canRead = useCan()('read:domains');
  const domains = useQuery({
    queryKey: key('domains', 'receiving'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: canRead,
  });
  return domains.data;
}

/** An address that can receive simulated mail, for examples. */
export function useExampleAddress(): string {
  const domains = useDomains();
  const domain = domains?.find(({ receiving }) => receiving) ?? domains?.[0];
  return `support@${domain?.name ?? 'reply.yourdomain.com'}`;
}
