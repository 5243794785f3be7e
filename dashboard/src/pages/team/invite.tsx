import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, RadioCards, TextInput } from '../../components/field.tsx';
import { usePreventLeaving } from '../../components/secret.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useWorkspace } from '../../session/session.ts';
import { assignableRoles, ROLES, type Role } from './roles.ts';

export function Invite({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const { role: ownRole } = useWorkspace();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const inviting = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/invitations', { body: { email: email.trim(), role } })),
    onSuccess: async (invitation) => {
      await queries.invalidateQueries({ queryKey: ['invitations'] });
      if (!invitation.mailed) return;
      showToast(`Invitation sent to ${invitation.email}.`);
      onClose();
    },
  });
  const link = inviting.data?.link;
  if (link)
    return <InvitationLinkDialog email={email} link={link} mailed={false} onClose={onClose} />;
  return (
    <Dialog title="Invite member" onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          inviting.mutate();
        }}
      >
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
          options={ROLES.filter((one) => assignableRoles(ownRole).includes(one.role)).map(
            (one) => ({
              value: one.role,
              label: one.label,
              hint: one.hint,
            }),
          )}
        />
        {inviting.isError && !hasOnlyFieldErrors(inviting.error, ['/email']) && (
          <ErrorAlert error={inviting.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={inviting.isPending}>
            Invite
          </Button>
        </DialogButtons>
      </form>
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
            Send this link to {email} yourself. It works once, only for that address, and replaces
            the earlier link.
          </p>
        ) : (
          <Alert tone="info" title="The invitation was not sent by email">
            <p>
              No domain can send email yet, or the address is suppressed. Send this link to {email}{' '}
              yourself. It works once, only for that address.
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
