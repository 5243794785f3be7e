import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { LogOut, ShieldCheck, Trash2, UserPlus } from 'lucide-react';
import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { NoSearchResults, SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { dateAndTime, Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { capitalize } from '../../lib/format.ts';
import {
  leaveWorkspace,
  ME_QUERY_KEY,
  useCan,
  useFormOpen,
  useMe,
  useWorkspace,
} from '../../session/session.ts';
import { Invitations } from './invitations.tsx';
import { Invite } from './invite.tsx';
import { assignableRoles, ROLES, type Role } from './roles.ts';

type Member = Schema<'Member'>;

export function TeamPage() {
  const { q, new: inviting } = useSearch({ from: '/inside/team' });
  const formOpen = useFormOpen(inviting !== undefined, 'write:members');
  const can = useCan();
  const navigate = useNavigate();
  const go = (search: { q?: string; new?: string }) =>
    void navigate({ to: '/team', search, replace: search.new === undefined });
  const invite = (on: boolean) =>
    go({ ...(q === undefined ? {} : { q }), ...(on ? { new: 'true' } : {}) });
  return (
    <Page
      full
      title="Team"
      description="Members of this workspace and their roles."
      actions={
        can('write:members') && (
          <Button kind="primary" icon={UserPlus} onClick={() => invite(true)}>
            Invite
          </Button>
        )
      }
    >
      <Members q={q} onSearch={(text) => go({ q: text })} />
      <Invitations />
      {formOpen && <Invite onClose={() => invite(false)} />}
    </Page>
  );
}

function Members({ q, onSearch }: { q: string | undefined; onSearch: (text: string) => void }) {
  const { api, selection } = useApi();
  const list = usePaginatedQuery(['members', selection.workspaceId, 'pages', q], (cursor) =>
    unwrap(
      api.GET('/api/v1/members', {
        params: { query: { ...pageParams(cursor), ...(q === undefined ? {} : { q }) } },
      }),
    ),
  );
  return (
    <>
      <search className="flex items-center gap-3 px-4 pb-3 sm:px-6">
        <SearchInput label="Search names and addresses" value={q ?? ''} onChange={onSearch} />
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="member" />
      </search>
      <PaginatedList
        list={list}
        placeholderRows={3}
        empty={
          <NoSearchResults
            what="member"
            text={q ?? ''}
            where="names and addresses"
            onClear={() => onSearch('')}
          />
        }
      >
        <MemberTable members={list.rows} />
      </PaginatedList>
    </>
  );
}

function MemberTable({ members }: { members: Member[] }) {
  return (
    <Table label="Members">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th>Role</Th>
          <Th hideBelow="md">Two-factor</Th>
          <Th hideBelow="md">Joined</Th>
          <Th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {members.map((member) => (
          <MemberRow key={member.id} member={member} />
        ))}
      </tbody>
    </Table>
  );
}

function MemberRow({ member }: { member: Member }) {
  const me = useMe();
  const { role: ownRole } = useWorkspace();
  const canWrite = useCan()('write:members');
  const { change, remove, leave } = useMemberChanges();
  const roles = assignableRoles(ownRole);
  const canEdit = canWrite && roles.includes(member.role);
  return (
    <Tr>
      <Td>
        <div className="font-medium">
          {member.name}
          {member.id === me.id && <span className="ml-1.5 font-normal text-faint">You</span>}
        </div>
        <div className="text-xs text-faint">{member.email}</div>
        {member.delete_at !== null && (
          <div className="text-xs text-warn">
            Account will be deleted after {dateAndTime(member.delete_at)}
          </div>
        )}
      </Td>
      <Td>
        {canEdit ? (
          <div className="w-28 sm:w-32">
            <Select
              aria-label={`Role of ${member.name}`}
              value={member.role}
              onChange={(event) => change(member, event.target.value as Role)}
            >
              {ROLES.filter(({ role }) => roles.includes(role)).map(({ role, label, hint }) => (
                <option key={role} value={role} title={hint}>
                  {label}
                </option>
              ))}
            </Select>
          </div>
        ) : (
          <Badge>{capitalize(member.role)}</Badge>
        )}
      </Td>
      <Td hideBelow="md">
        {member.totp_enabled ? (
          <span className="inline-flex items-center gap-1 text-good">
            <ShieldCheck className="size-4" aria-hidden />
            On
          </span>
        ) : (
          <span className="text-faint">Off</span>
        )}
      </Td>
      <Td hideBelow="md" className="text-soft">
        <Time at={member.joined_at} />
      </Td>
      <Td className="w-px">
        {member.id === me.id ? (
          <IconButton icon={LogOut} danger label="Leave workspace" onClick={leave} />
        ) : (
          canEdit && (
            <IconButton
              icon={Trash2}
              danger
              label={`Remove ${member.name}`}
              onClick={() => remove(member)}
            />
          )
        )}
      </Td>
    </Tr>
  );
}

function useMemberChanges() {
  const { api } = useApi();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const refresh = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['members'] }),
      queries.invalidateQueries({ queryKey: ME_QUERY_KEY }),
    ]);
  const changing = useMutation({
    mutationFn: ({ member, role }: { member: Member; role: Role }) =>
      unwrap(
        api.PATCH('/api/v1/members/{id}', { params: { path: { id: member.id } }, body: { role } }),
      ),
    onSuccess: (member) => showToast(`${member.name} is now ${member.role}.`),
    onError: showErrorToast,
    onSettled: refresh,
  });
  return {
    change: (member: Member, role: Role) => changing.mutate({ member, role }),
    remove: (member: Member) =>
      requestConfirmation({
        title: `Remove ${member.name}?`,
        body: 'They lose access immediately. API keys they created keep working; revoke them separately.',
        confirmLabel: 'Remove',
        run: async () => {
          await unwrap(api.DELETE('/api/v1/members/{id}', { params: { path: { id: member.id } } }));
          await refresh();
          showToast(`${member.name} removed.`);
        },
      }),
    leave: () =>
      requestConfirmation({
        title: `Leave ${workspace.name}?`,
        body: 'You lose access immediately and need a new invitation to return.',
        confirmLabel: 'Leave',
        run: async () => {
          await unwrap(
            api.POST('/api/v1/workspaces/{id}/leave', { params: { path: { id: workspace.id } } }),
          );
          leaveWorkspace(queries);
        },
      }),
  };
}
