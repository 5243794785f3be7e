import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { sessionEnded } from '../../api/session-signals.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Section } from '../../components/page.tsx';
import { dateAndTime } from '../../components/time.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { ME_QUERY_KEY, useMe } from '../../session/session.ts';
import { EMPTY_IDENTITY, IdentityFields, identityBody } from './identity-fields.tsx';

export function AccountDeletionSettings() {
  return (
    <Section
      title="Delete account"
      description="Removes you from all workspaces. You can restore it for a few days."
    >
      <AccountDeletion />
    </Section>
  );
}

/** Deletes the account, or restores it until it is deleted. */
export function AccountDeletion() {
  const { delete_at: deleteAt } = useMe();
  const [open, setOpen] = useState(false);
  if (deleteAt !== null) return <RestoreAccount deleteAt={deleteAt} />;
  return (
    <>
      <Button kind="danger-quiet" onClick={() => setOpen(true)}>
        Delete account
      </Button>
      {open && <DeleteAccountDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function DeleteAccountDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [identity, setIdentity] = useState(EMPTY_IDENTITY);
  const deleting = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/me/deletion', { body: identityBody(identity) })),
    onSuccess: async ({ delete_at: deleteAt }) => {
      onClose();
      await navigate({ to: '/sign-in' });
      queries.clear();
      sessionEnded.set(false);
      showToast(`Your account will be deleted after ${dateAndTime(deleteAt)}.`);
    },
  });
  return (
    <Dialog title="Delete your account?" onClose={onClose} skipDiscardCheck>
      <DialogForm
        saving={deleting}
        fields={['/password', '/code']}
        submitLabel="Delete account"
        danger
        onClose={onClose}
      >
        <p className="text-sm text-soft">
          You are signed out everywhere now. To keep your account, sign in within the next days and
          restore it in the settings; after that it can’t be undone. Workspaces, and what you
          created in them, stay.
        </p>
        <ExportAccount />
        <IdentityFields value={identity} onChange={setIdentity} error={deleting.error} />
      </DialogForm>
    </Dialog>
  );
}

function ExportAccount() {
  const exporting = useMutation({
    mutationFn: () => unwrap(api.GET('/api/v1/me/export')),
    onSuccess: (account) =>
      downloadFile(new Blob([JSON.stringify(account, null, 2)]), 'account.json'),
    onError: showErrorToast,
  });
  return (
    <div>
      <Button
        size="small"
        icon={Download}
        busy={exporting.isPending}
        onClick={() => exporting.mutate()}
      >
        Export your account
      </Button>
    </div>
  );
}

function RestoreAccount({ deleteAt }: { deleteAt: string }) {
  const queries = useQueryClient();
  const restoring = useMutation({
    mutationFn: () => unwrap(api.DELETE('/api/v1/me/deletion')),
    onSuccess: (me) => {
      queries.setQueryData(ME_QUERY_KEY, me);
      showToast('Account restored.');
    },
  });
  return (
    <div>
      <p className="mb-3 text-sm text-soft">
        Your account will be deleted after {dateAndTime(deleteAt)}.
      </p>
      {restoring.isError && <ErrorAlert error={restoring.error} className="mb-3" />}
      <Button kind="primary" busy={restoring.isPending} onClick={() => restoring.mutate()}>
        Restore account
      </Button>
    </div>
  );
}
