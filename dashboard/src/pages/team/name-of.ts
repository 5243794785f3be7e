import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { everyRow } from '../../api/use-pages.ts';
import { useMay, useMe } from '../../session/session.ts';

/** Who did it, in words: a person's name, the command line, or a key. */
export function useNameOf(): (actor: string) => string {
  const { api, place } = useHere();
  const me = useMe();
  const members = useQuery({
    queryKey: ['members', place.workspaceId, 'names'],
    queryFn: () => everyRow((query) => ask(api.GET('/api/v1/members', { params: { query } }))),
    enabled: useMay()('read:members'),
    staleTime: 60_000,
  });
  return (actor) => {
    if (actor === me.id) return 'you';
    if (actor === 'cli') return 'the command line';
    if (actor.startsWith('key_')) return 'an API key';
    return members.data?.find(({ id }) => id === actor)?.name ?? actor;
  };
}
