import { useQuery } from '@tanstack/react-query';
import { type Schema, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { useCan, useMe } from '../../session/session.ts';

/** The members of the workspace. Empty without the permission. */
export function useMembers(): readonly Schema<'Member'>[] {
  const { api, selection } = useApi();
  const members = useQuery({
    queryKey: ['members', selection.workspaceId, 'names'],
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/members', { params: { query } }))),
    enabled: useCan()('read:members'),
    staleTime: 60_000,
  });
  return members.data ?? [];
}

/** The display name of an actor: a member, the CLI, or an API key. */
export function useActorName(): (actor: string) => string {
  const me = useMe();
  const members = useMembers();
  return (actor) => {
    if (actor === me.id) return 'you';
    if (actor === 'cli') return 'the CLI';
    if (actor.startsWith('key_')) return 'an API key';
    return members.find(({ id }) => id === actor)?.name ?? actor;
  };
}
