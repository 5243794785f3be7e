import { useQuery } from '@tanstack/react-query';
import { AtSign, Ban, BookUser, FileCode2, KeyRound, type LucideIcon, Webhook } from 'lucide-react';
import { useEffect, useState } from 'react';
import { type Api, unwrap } from '../api/client.ts';
import { fetchAllRows } from '../api/pagination.ts';
import { useApi } from '../api/use-api.ts';
import { useCan } from '../session/session.ts';

/** An object of the workspace that matches the text in the command palette. */
export interface PaletteResult {
  id: string;
  label: string;
  hint: string;
  icon: LucideIcon;
  /** Where it opens. */
  target: object;
}

const TYPING_MS = 150;
const MIN_LENGTH = 2;
const MAX_ROWS = 4;

/** Templates, domains, contacts, suppressions, webhooks and keys whose name or address contains the text. */
export function usePaletteResults(text: string): PaletteResult[] {
  const { api, key } = useApi();
  const can = useCan();
  const query = useSettled(text.trim().toLowerCase());
  const results = useQuery({
    queryKey: key('palette', query),
    queryFn: async () => {
      const sources = SOURCES.filter(({ permission }) => can(permission));
      const found = await Promise.allSettled(sources.map(({ find }) => find(api, query)));
      // A source that fails must not hide the results of the others.
      return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    },
    enabled: query.length >= MIN_LENGTH,
    // Results of the text before stay while the next are loading.
    placeholderData: (before) => before,
  });
  return query.length >= MIN_LENGTH ? (results.data ?? NONE) : NONE;
}

const NONE: PaletteResult[] = [];

/** The text, after a pause in typing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

interface Source {
  permission: string;
  find: (api: Api, q: string) => Promise<PaletteResult[]>;
}

const SOURCES: Source[] = [
  {
    permission: 'read:templates',
    find: async (api, q) => {
      const query = { q, limit: MAX_ROWS };
      const page = await unwrap(api.GET('/api/v1/templates', { params: { query } }));
      return page.data.map(({ id, key, name }) => ({
        id,
        label: name,
        hint: 'Template',
        icon: FileCode2,
        target: { to: '/templates/$kind/$key', params: { kind: 'template', key } },
      }));
    },
  },
  {
    permission: 'read:domains',
    find: async (api, q) => {
      const query = { q, limit: MAX_ROWS };
      const page = await unwrap(api.GET('/api/v1/domains', { params: { query } }));
      return page.data.map(({ id, name }) => ({
        id,
        label: name,
        hint: 'Domain',
        icon: AtSign,
        target: { to: '/domains/$id', params: { id } },
      }));
    },
  },
  {
    permission: 'read:contacts',
    find: async (api, q) => {
      const query = { q, limit: MAX_ROWS };
      const page = await unwrap(api.GET('/api/v1/contacts', { params: { query } }));
      return page.data.map(({ id, email }) => ({
        id,
        label: email,
        hint: 'Contact',
        icon: BookUser,
        target: { to: '/contacts', search: { open: email } },
      }));
    },
  },
  {
    permission: 'read:suppressions',
    find: async (api, q) => {
      const query = { q, limit: MAX_ROWS };
      const page = await unwrap(api.GET('/api/v1/suppressions', { params: { query } }));
      return page.data.flatMap(({ id, email, domain, stream }) => {
        const name = email ?? domain;
        if (name === null) return [];
        const hint = stream === null ? 'Suppressed' : `Suppressed in ${stream}`;
        const target = { to: '/suppressions', search: { q: name } };
        return [{ id, label: name, hint, icon: Ban, target }];
      });
    },
  },
  {
    permission: 'read:webhooks',
    // A workspace has few endpoints, and their list has no search.
    find: async (api, q) => {
      const all = await fetchAllRows((query) =>
        unwrap(api.GET('/api/v1/webhooks', { params: { query } })),
      );
      const matching = all.filter(({ url }) => url.toLowerCase().includes(q));
      return matching.slice(0, MAX_ROWS).map(({ id, url }) => ({
        id,
        label: url,
        hint: 'Webhook',
        icon: Webhook,
        target: { to: '/webhooks/$id', params: { id } },
      }));
    },
  },
  {
    permission: 'read:api_keys',
    find: async (api, q) => {
      const query = { q, limit: MAX_ROWS };
      const page = await unwrap(api.GET('/api/v1/api-keys', { params: { query } }));
      return page.data.map(({ id, name }) => ({
        id,
        label: name,
        hint: 'API key',
        icon: KeyRound,
        target: { to: '/api-keys', search: { q: name } },
      }));
    },
  },
];
