import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Ellipsis, KeyRound, Pencil, Plus, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { apiFor, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { Badge, ModeBadge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Snippets } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx';
import { Page } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { NoSearchResults, SearchInput } from '../../components/search-input.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useSelection } from '../../session/selection.ts';
import { useFormOpen, useCan } from '../../session/session.ts';
import { useActorName } from '../team/actor-name.ts';
import { type ApiKey, CreateKey, EditKey, RotateKey } from './key-dialogs.tsx';
import { describeScopes } from './scopes.ts';
import { sendSnippets } from './send-snippets.ts';

/** Keys of both modes: the page where somebody looks for a key must not hide it. */
export function ApiKeysPage() {
  const place = useSelection();
  const may = useCan();
  const navigate = useNavigate();
  const { q, new: making } = useSearch({ from: '/inside/api-keys' });
  const formOpen = useFormOpen(making !== undefined, 'write:api_keys');
  const filter = q === undefined ? {} : { q };
  const [open, setOpen] = useState<{ key: ApiKey; what: 'edit' | 'rotate' }>();
  const list = usePaginatedQuery(['api-keys', place.workspaceId, 'both', q], (cursor) =>
    unwrap(
      apiFor({ ...place, mode: 'live' }).GET('/api/v1/api-keys', {
        params: { query: { ...pageParams(cursor), ...filter } },
      }),
    ),
  );
  const go = (search: { q?: string; new?: string }) =>
    void navigate({ to: '/api-keys', search, replace: search.new === undefined });
  const create = (on: boolean) => go({ ...filter, ...(on ? { new: 'true' } : {}) });
  return (
    <Page
      full
      title="API keys"
      description="A key speaks for this workspace. Live keys send real mail; test keys end in the test inbox."
      actions={
        may('write:api_keys') && (
          <Button kind="primary" icon={Plus} onClick={() => create(true)}>
            Create key
          </Button>
        )
      }
    >
      <search className="px-4 pb-3 sm:px-6">
        <SearchInput
          label="Search names and ends of secrets"
          value={q ?? ''}
          onChange={(text) => go({ q: text })}
        />
      </search>
      {list.isPending ? (
        <SkeletonRows rows={4} />
      ) : list.isLoadingError ? (
        <ErrorAlert
          error={list.error}
          className="mx-4 sm:mx-6"
          onRetry={() => void list.refetch()}
        />
      ) : list.rows.length === 0 && !list.hasNextPage && q !== undefined ? (
        <NoSearchResults
          what="key"
          text={q}
          where="names, and in the beginning and the last four characters of secrets"
          onClear={() => go({})}
        />
      ) : list.rows.length === 0 && q === undefined ? (
        <EmptyState
          icon={KeyRound}
          title="No keys yet"
          actions={
            may('write:api_keys') && (
              <Button kind="primary" icon={Plus} onClick={() => create(true)}>
                Create a test key
              </Button>
            )
          }
          teach={<Snippets snippets={sendSnippets('pr_test_…')} />}
        >
          Every request carries one. Begin with a test key: nothing it sends ever leaves.
        </EmptyState>
      ) : (
        <>
          <KeyTable keys={list.rows} onOpen={setOpen} mayWrite={may('write:api_keys')} />
          <LoadMore {...list} />
        </>
      )}
      {formOpen && <CreateKey onClose={() => create(false)} />}
      {open?.what === 'edit' && <EditKey apiKey={open.key} onClose={() => setOpen(undefined)} />}
      {open?.what === 'rotate' && (
        <RotateKey apiKey={open.key} onClose={() => setOpen(undefined)} />
      )}
    </Page>
  );
}

function KeyTable({
  keys,
  onOpen,
  mayWrite,
}: {
  keys: ApiKey[];
  onOpen: (opened: { key: ApiKey; what: 'edit' | 'rotate' }) => void;
  mayWrite: boolean;
}) {
  const nameOf = useActorName();
  const revoke = useRevoke();
  return (
    <Table label="API keys">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th>Mode</Th>
          <Th later>May</Th>
          <Th later="much">Limits</Th>
          <Th>Last used</Th>
          <Th later>Expires</Th>
          <Th later="much">Made</Th>
          <Th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <Tr key={key.id} className={key.revoked_at ? 'text-faint' : ''}>
            <Td>
              <div className="font-medium">{key.name}</div>
              <code className="font-mono text-xs text-faint">{key.token_hint}</code>
            </Td>
            <Td>{key.revoked_at ? <Badge>revoked</Badge> : <ModeBadge mode={key.mode} />}</Td>
            <Td later className="min-w-32">
              <span title={key.scopes.join('\n')}>{describeScopes(key.scopes)}</span>
            </Td>
            <Td later="much" className="min-w-36 text-soft">
              <Limits apiKey={key} />
            </Td>
            <Td>
              <Time at={key.last_used_at} className="text-soft" />
            </Td>
            <Td later>
              <Expires apiKey={key} />
            </Td>
            <Td later="much" className="min-w-32 text-soft">
              <Time at={key.created_at} />
              <div className="text-xs text-faint">by {nameOf(key.created_by)}</div>
            </Td>
            <Td className="w-px">
              {mayWrite && !key.revoked_at && (
                <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${key.name}`} />}>
                  <MenuItem icon={Pencil} onSelect={() => onOpen({ key, what: 'edit' })}>
                    Change
                  </MenuItem>
                  <MenuItem icon={RotateCw} onSelect={() => onOpen({ key, what: 'rotate' })}>
                    Rotate the secret
                  </MenuItem>
                  <MenuSeparator />
                  <MenuItem icon={Trash2} danger onSelect={() => revoke(key)}>
                    Revoke
                  </MenuItem>
                </Menu>
              )}
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

function Limits({ apiKey }: { apiKey: ApiKey }) {
  const limits = [...apiKey.allowed_domains, ...apiKey.allowed_ips];
  if (limits.length === 0) return <>none</>;
  const shown = limits.length === 1 ? limits[0] : `${limits[0]} and ${limits.length - 1} more`;
  return <span title={limits.join('\n')}>{shown}</span>;
}

const SOON_MS = 7 * 24 * 60 * 60 * 1000;

function Expires({ apiKey: { expires_at } }: { apiKey: ApiKey }) {
  if (expires_at === null) return <span className="text-soft">never</span>;
  const leftMs = Date.parse(expires_at) - Date.now();
  if (leftMs < 0) return <Badge tone="bad">expired</Badge>;
  return (
    <Time at={expires_at} className={leftMs < SOON_MS ? 'font-medium text-warn' : 'text-soft'} />
  );
}

function useRevoke(): (key: ApiKey) => void {
  const place = useSelection();
  const queries = useQueryClient();
  return (key) =>
    requestConfirmation({
      title: `Revoke ${key.name}?`,
      body: (
        <>
          Every request with <code className="font-mono text-xs">{key.token_hint}</code> is refused
          from now on. This cannot be undone. To change over without a gap, rotate it instead.
        </>
      ),
      confirmLabel: 'Revoke key',
      run: async () => {
        await unwrap(
          apiFor({ ...place, mode: key.mode }).DELETE('/api/v1/api-keys/{id}', {
            params: { path: { id: key.id } },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['api-keys'] });
        showToast(`${key.name} is revoked.`);
      },
    });
}
