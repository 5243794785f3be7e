import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Cloud, Ellipsis, KeyRound, Pencil, Plus, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { apiFor, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { Badge, ModeBadge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { NoSearchResults, SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useSelection } from '../../session/selection.ts';
import { useCan, useFormOpen } from '../../session/session.ts';
import { useActorName } from '../team/actor-name.ts';
import { forgetTestKey } from './example-key.tsx';
import { type ApiKey, CreateKey, EditKey, RotateKey } from './key-dialogs.tsx';
import { describeScopes } from './scopes.ts';
import { SendSnippets } from './send-snippets.tsx';
import { SesCredentials } from './ses-credentials.tsx';

interface OpenedKey {
  key: ApiKey;
  what: 'edit' | 'rotate' | 'ses';
}

/** Lists the keys of both modes, so that a key is found whatever the selected mode. */
export function ApiKeysPage() {
  const selection = useSelection();
  const can = useCan();
  const navigate = useNavigate();
  const { q, new: creating } = useSearch({ from: '/inside/api-keys' });
  const formOpen = useFormOpen(creating !== undefined, 'write:api_keys');
  const filter = q === undefined ? {} : { q };
  const [open, setOpen] = useState<OpenedKey>();
  const list = usePaginatedQuery(['api-keys', selection.workspaceId, 'both', q], (cursor) =>
    unwrap(
      apiFor({ ...selection, mode: 'live' }).GET('/api/v1/api-keys', {
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
      description="API keys authenticate requests for this workspace. Live keys send real email; test keys deliver to the test inbox."
      actions={
        can('write:api_keys') && (
          <Button kind="primary" icon={Plus} onClick={() => create(true)}>
            Create key
          </Button>
        )
      }
    >
      <search className="flex items-center gap-3 px-4 pb-3 sm:px-6">
        <SearchInput
          label="Search by name or last 4 characters"
          value={q ?? ''}
          onChange={(text) => go({ q: text })}
        />
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="key" />
      </search>
      <PaginatedList
        list={list}
        items="keys"
        placeholderRows={4}
        empty={
          q !== undefined ? (
            <NoSearchResults
              what="key"
              text={q}
              where="key names, prefixes and last 4 characters"
              onClear={() => go({})}
            />
          ) : (
            <NoKeys canWrite={can('write:api_keys')} onCreate={() => create(true)} />
          )
        }
      >
        <KeyTable keys={list.rows} onOpen={setOpen} canWrite={can('write:api_keys')} />
      </PaginatedList>
      {list.rows.length > 0 && (
        <div className="px-4 pt-6 pb-10 sm:px-6">
          <Section
            className="max-w-3xl"
            title="Send with your code"
            description="Use the Postrider API, or keep the client library you have and change the highlighted lines."
          >
            <SendSnippets mode={selection.mode} everyWay />
          </Section>
        </div>
      )}
      {formOpen && <CreateKey onClose={() => create(false)} />}
      {open?.what === 'edit' && <EditKey apiKey={open.key} onClose={() => setOpen(undefined)} />}
      {open?.what === 'rotate' && (
        <RotateKey apiKey={open.key} onClose={() => setOpen(undefined)} />
      )}
      {open?.what === 'ses' && (
        <SesCredentials apiKey={open.key} onClose={() => setOpen(undefined)} />
      )}
    </Page>
  );
}

function NoKeys({ canWrite, onCreate }: { canWrite: boolean; onCreate: () => void }) {
  return (
    <EmptyState
      icon={KeyRound}
      title="No API keys yet"
      actions={
        canWrite && (
          <Button kind="primary" icon={Plus} onClick={onCreate}>
            Create a test key
          </Button>
        )
      }
      example={<SendSnippets mode="test" everyWay createKey={false} />}
    >
      Every API request needs a key. Start with a test key: its emails are captured, never sent.
    </EmptyState>
  );
}

function KeyTable({
  keys,
  onOpen,
  canWrite,
}: {
  keys: ApiKey[];
  onOpen: (opened: OpenedKey) => void;
  canWrite: boolean;
}) {
  const nameOf = useActorName();
  const createdBy = (actor: string) =>
    actor === 'cli' ? 'via CLI' : actor.startsWith('key_') ? 'via API' : `by ${nameOf(actor)}`;
  const revoke = useRevoke();
  return (
    <Table label="API keys">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th>Mode</Th>
          <Th hideBelow="md">Permissions</Th>
          <Th hideBelow="xl">Restrictions</Th>
          <Th>Last used</Th>
          <Th hideBelow="md">Expires</Th>
          <Th hideBelow="xl">Created</Th>
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
            <Td>{key.revoked_at ? <Badge>Revoked</Badge> : <ModeBadge mode={key.mode} />}</Td>
            <Td hideBelow="md" className="min-w-32">
              <span title={key.scopes.join('\n')}>{describeScopes(key.scopes, key.mode)}</span>
            </Td>
            <Td hideBelow="xl" className="min-w-36 text-soft">
              <Restrictions apiKey={key} />
            </Td>
            <Td>
              <Time at={key.last_used_at} className="text-soft" />
            </Td>
            <Td hideBelow="md">
              <Expires apiKey={key} />
            </Td>
            <Td hideBelow="xl" className="min-w-32 text-soft">
              <Time at={key.created_at} />
              <div className="text-xs text-faint">{createdBy(key.created_by)}</div>
            </Td>
            <Td className="w-px">
              {canWrite && !key.revoked_at && (
                <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${key.name}`} />}>
                  <MenuItem icon={Pencil} onSelect={() => onOpen({ key, what: 'edit' })}>
                    Edit
                  </MenuItem>
                  <MenuItem icon={RotateCw} onSelect={() => onOpen({ key, what: 'rotate' })}>
                    Rotate key
                  </MenuItem>
                  <MenuItem icon={Cloud} onSelect={() => onOpen({ key, what: 'ses' })}>
                    SES credentials
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

function Restrictions({ apiKey }: { apiKey: ApiKey }) {
  const { allowed_domains, allowed_ips, allowed_streams } = apiKey;
  const restrictions = [...allowed_domains, ...allowed_ips, ...allowed_streams];
  if (restrictions.length === 0) return <>None</>;
  const shown =
    restrictions.length === 1
      ? restrictions[0]
      : `${restrictions[0]} and ${restrictions.length - 1} more`;
  return <span title={restrictions.join('\n')}>{shown}</span>;
}

const SOON_MS = 7 * 24 * 60 * 60 * 1000;

function Expires({ apiKey: { expires_at } }: { apiKey: ApiKey }) {
  if (expires_at === null) return <span className="text-soft">Never</span>;
  const leftMs = Date.parse(expires_at) - Date.now();
  if (leftMs < 0) return <Badge tone="bad">Expired</Badge>;
  return (
    <Time at={expires_at} className={leftMs < SOON_MS ? 'font-medium text-warn' : 'text-soft'} />
  );
}

function useRevoke(): (key: ApiKey) => void {
  const selection = useSelection();
  const queries = useQueryClient();
  return (key) =>
    requestConfirmation({
      title: `Revoke ${key.name}?`,
      body: (
        <>
          Requests with <code className="font-mono text-xs">{key.token_hint}</code> will be rejected
          immediately. This can’t be undone. To replace the key without downtime, rotate it instead.
        </>
      ),
      confirmLabel: 'Revoke key',
      run: async () => {
        await unwrap(
          apiFor({ ...selection, mode: key.mode }).DELETE('/api/v1/api-keys/{id}', {
            params: { path: { id: key.id } },
          }),
        );
        forgetTestKey(key.id);
        await queries.invalidateQueries({ queryKey: ['api-keys'] });
        showToast(`${key.name} revoked.`);
      },
    });
}
