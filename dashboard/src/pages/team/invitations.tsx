import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Ellipsis, Link2, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { IconButton } from '../../components/button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { useRefetchOnEvents } from '../../layout/live-events.ts';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { capitalize } from '../../lib/format.ts';
import { useSelection } from '../../session/selection.ts';
import { useCan, useWorkspace } from '../../session/session.ts';
import { InvitationLinkDialog } from './invite.tsx';
import { assignableRoles } from './roles.ts';

type Invitation = Schema<'Invitation'>;

/** An event arrives just before its change is visible to the list. */
const REFETCH_DELAY_MS = 300;

/** Open invitations, with what became of their emails. Expired ones can be sent again. */
export function Invitations() {
  const { api, selection } = useApi();
  const { role: ownRole } = useWorkspace();
  const canWrite = useCan()('write:members');
  const { resend, createLink, revoke, link, closeLink } = useInvitationChanges();
  const invitations = useQuery({
    queryKey: ['invitations', selection.workspaceId],
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/invitations', { params: { query } }))),
  });
  useRefetchOnEvents(['invitations'], REFETCH_DELAY_MS);
  const open =
    invitations.data?.filter(({ status }) => status === 'pending' || status === 'expired') ?? [];
  if (open.length === 0) return null;
  const canManage = ({ role }: Invitation) => canWrite && assignableRoles(ownRole).includes(role);
  return (
    <section className="mt-8 pb-10">
      <h2 className="px-4 pb-2 text-sm font-semibold sm:px-6">Pending invitations</h2>
      <Table label="Pending invitations">
        <thead>
          <tr>
            <Th>Address</Th>
            <Th hideBelow="md">Role</Th>
            <Th>Email</Th>
            <Th hideBelow="md">Sent</Th>
            <Th hideBelow="md">Expires</Th>
            <Th aria-label="Actions" />
          </tr>
        </thead>
        <tbody>
          {open.map((invitation) => (
            <Tr key={invitation.id}>
              <Td>
                <div className="font-medium wrap-anywhere">{invitation.email}</div>
                <div className="text-xs text-faint md:hidden">{capitalize(invitation.role)}</div>
                <Problem invitation={invitation} />
              </Td>
              <Td hideBelow="md">
                <Badge>{capitalize(invitation.role)}</Badge>
              </Td>
              <Td>
                {invitation.delivery ? (
                  <StatusBadge status={invitation.delivery.status} />
                ) : (
                  <span className="whitespace-nowrap text-soft">Link shared</span>
                )}
              </Td>
              <Td hideBelow="md" className="text-soft">
                <Time at={invitation.created_at} />
              </Td>
              <Td hideBelow="md" className="text-soft">
                {invitation.status === 'expired' ? (
                  <Badge tone="bad">Expired</Badge>
                ) : (
                  <Time at={invitation.expires_at} />
                )}
              </Td>
              <Td className="w-px">
                {canManage(invitation) && (
                  <Menu
                    trigger={
                      <IconButton
                        icon={Ellipsis}
                        label={`Actions for the invitation of ${invitation.email}`}
                      />
                    }
                  >
                    <MenuItem icon={RotateCw} onSelect={() => resend(invitation)}>
                      Resend email
                    </MenuItem>
                    <MenuItem icon={Link2} onSelect={() => createLink(invitation)}>
                      Copy link
                    </MenuItem>
                    <MenuSeparator />
                    <MenuItem icon={Trash2} danger onSelect={() => revoke(invitation)}>
                      Revoke
                    </MenuItem>
                  </Menu>
                )}
              </Td>
            </Tr>
          ))}
        </tbody>
      </Table>
      {link && <InvitationLinkDialog {...link} onClose={closeLink} />}
    </section>
  );
}

const UNDELIVERED: readonly string[] = ['bounced', 'failed', 'expired', 'deferred'];

/** Why the email has not arrived, with a link to its message. */
function Problem({ invitation: { delivery } }: { invitation: Invitation }) {
  const { mode } = useSelection();
  if (!delivery || !UNDELIVERED.includes(delivery.status)) return null;
  return (
    <p className="mt-0.5 max-w-xl text-xs text-soft">
      {delivery.explanation ?? 'The email was not delivered.'}{' '}
      {mode === 'live' && (
        <Link
          to="/messages/$id"
          params={{ id: delivery.message_id }}
          className="font-medium text-accent-ink hover:underline"
        >
          View message
        </Link>
      )}
    </p>
  );
}

/** A link on screen: of an invitation that was not, or not only, sent by email. */
interface ShownLink {
  email: string;
  link: string;
  mailed: boolean;
}

function useInvitationChanges() {
  const { api } = useApi();
  const queries = useQueryClient();
  const [link, setLink] = useState<ShownLink>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['invitations'] });
  const pathOf = ({ id }: Invitation) => ({ params: { path: { id } } });
  const resending = useMutation({
    mutationFn: (invitation: Invitation) =>
      unwrap(api.POST('/api/v1/invitations/{id}/resend', pathOf(invitation))),
    onSuccess: ({ email, link }) => {
      if (link === null) showToast(`Invitation sent to ${email}.`);
      else setLink({ email, link, mailed: false });
    },
    onError: showErrorToast,
    onSettled: refresh,
  });
  const linking = useMutation({
    mutationFn: (invitation: Invitation) =>
      unwrap(api.POST('/api/v1/invitations/{id}/link', pathOf(invitation))),
    onSuccess: ({ email, link }) => link !== null && setLink({ email, link, mailed: true }),
    onError: showErrorToast,
    onSettled: refresh,
  });
  return {
    resend: (invitation: Invitation) => resending.mutate(invitation),
    createLink: (invitation: Invitation) => linking.mutate(invitation),
    revoke: (invitation: Invitation) =>
      requestConfirmation({
        title: `Revoke the invitation for ${invitation.email}?`,
        body: 'The link that was sent will stop working.',
        confirmLabel: 'Revoke',
        run: async () => {
          await unwrap(api.DELETE('/api/v1/invitations/{id}', pathOf(invitation)));
          await refresh();
        },
      }),
    link,
    closeLink: () => setLink(undefined),
  };
}
