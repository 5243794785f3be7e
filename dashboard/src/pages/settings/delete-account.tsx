import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { hasOnlyFieldErrors } from '../../api/problem.ts';
import { sessionEnded } from '../../api/session-signals.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { EMPTY_IDENTITY, IdentityFields, identityBody } from './identity-fields.tsx';

export function DeleteAccountButton() {
  const [open, setOpen] = useState(false);
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
    onSuccess: async () => {
      onClose();
      await navigate({ to: '/sign-in' });
      queries.clear();
      sessionEnded.set(false);
      showToast('Your account was deleted.');
    },
  });
  return (
    <Dialog title="Delete your account?" onClose={onClose} skipDiscardCheck>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          deleting.mutate();
        }}
      >
        <p className="text-sm text-soft">
          You lose access to all workspaces. This can’t be undone. Workspaces that you are a member
          of stay.
        </p>
        <IdentityFields value={identity} onChange={setIdentity} error={deleting.error} />
        {deleting.isError && !hasOnlyFieldErrors(deleting.error, ['/password', '/code']) && (
          <ErrorAlert error={deleting.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="danger" busy={deleting.isPending}>
            Delete account
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
