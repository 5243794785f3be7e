import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, RadioCards, TextInput } from '../../components/field.tsx';
import { usePreventLeaving } from '../../components/secret.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useWorkspace } from '../../session/session.ts';
import { assignableRoles, ROLES, type Role } from './roles.ts';

/** Invites a member to the current workspace, with a role that the user may assign. */
export function Invite({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const { role: ownRole } = useWorkspace();
  const invite = async (body: { email: string; role: Role }) => {
    const invitation = await unwrap(api.POST('/api/v1/invitations', { body }));
    await queries.invalidateQueries({ queryKey: ['invitations'] });
    return invitation;
  };
  return (
    <InviteDialog
      roles={ROLES.filter(({ role }) => assignableRoles(ownRole).includes(role))}
      firstRole="developer"
      invite={invite}
      onClose={onClose}
    />
  );
}

/** Asks for an address and a role. Shows a link to share if the invitation could not be emailed. */
export function InviteDialog({
  roles,
  firstRole,
  invite,
  onClose,
}: {
  roles: readonly (typeof ROLES)[number][];
  /** Selected at first. */
  firstRole: Role;
  invite: (body: { email: string; role: Role }) => Promise<Schema<'CreatedInvitation'>>;
  onClose: () => void;
}) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState(firstRole);
  const inviting = useMutation({
    mutationFn: () => invite({ email: email.trim(), role }),
    onSuccess: (invitation) => {
      if (!invitation.mailed) return;
      showToast(`Invitation sent to ${invitation.email}.`);
      onClose();
    },
  });
  const link = inviting.data?.link;
  if (link) {
    return <InvitationLinkDialog email={email} link={link} mailed={false} onClose={onClose} />;
  }
  return (
    <Dialog title="Invite member" onClose={onClose}>
      <DialogForm saving={inviting} fields={['/email']} submitLabel="Invite" onClose={onClose}>
        <Field label="Email" error={fieldError(inviting.error, '/email')}>
          <TextInput
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
          />
        </Field>
        <RadioCards
          legend="Role"
          value={role}
          onChange={setRole}
          options={roles.map(({ role: value, label, hint }) => ({ value, label, hint }))}
        />
      </DialogForm>
    </Dialog>
  );
}

export function InvitationLinkDialog({
  email,
  link,
  mailed,
  onClose,
}: {
  email: string;
  link: string;
  /** Whether an earlier link was sent by email. */
  mailed: boolean;
  onClose: () => void;
}) {
  usePreventLeaving();
  return (
    <Dialog title="Share this link" onClose={onClose} persistent>
      <div className="grid gap-4">
        {mailed ? (
          <p className="text-sm text-soft">
            Send this link to {email} yourself, and to no one else: if that address has no account,
            the link creates it. It works once and replaces the earlier link.
          </p>
        ) : (
          <Alert tone="info" title="The invitation was not sent by email">
            <p>
              No domain can send email yet, or the address is suppressed. Send this link to {email}{' '}
              yourself, and to no one else: if that address has no account, the link creates it. It
              works once.
            </p>
          </Alert>
        )}
        <CodeBlock code={link} label="invitation link" wrap />
        <DialogButtons>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
